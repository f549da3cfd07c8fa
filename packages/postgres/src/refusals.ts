import { BonsaiError } from "@bonsai-agent/messages";

export function notFound(id: string): BonsaiError {
  return new BonsaiError({
    code: "session_not_found",
    message: `The database has no session ${id}.`,
    hint: "Run `bonsai session list --database URL` to list the shared sessions.",
  });
}

export function leased(id: string, owner: string): BonsaiError {
  return new BonsaiError({
    code: "session_leased",
    message: `${owner} works on the session ${id} now.`,
    hint: "Wait until it closes the session. If that host has crashed, its lease ends by itself.",
  });
}

export function sessionExists(id: string): BonsaiError {
  return new BonsaiError({
    code: "session_exists",
    message: `The database already has a session ${id}.`,
    hint: "Open it, or choose another id.",
  });
}

export function tooOld(file: string): BonsaiError {
  return new BonsaiError({
    code: "session_too_old",
    message: `${file} has an older format.`,
    hint: "Continue it once with `bonsai --session FILE`, which writes a copy in today's format, and push that copy.",
  });
}

export function ambiguous(id: string): BonsaiError {
  return new BonsaiError({
    code: "session_ambiguous",
    message: `Several shared sessions have an id that begins with "${id}".`,
    hint: "Give more characters of the id.",
  });
}
