import { BonsaiError } from "@bonsai-agent/messages";

/** @param part the missing part; default: the whole session */
export function notFound(id: string, part = ""): BonsaiError {
  return new BonsaiError({
    code: "session_not_found",
    message: `The database does not have the session ${id}${part}.`,
    hint: "Run `bonsai session list --database URL` to list the shared sessions.",
  });
}

/** @param seconds until the lease ends, if its host does not renew it */
export function leased(id: string, owner: string, seconds: number): BonsaiError {
  return new BonsaiError({
    code: "session_leased",
    message: `${owner} has the session ${id} open.`,
    hint: `Close it there, or work in a copy: \`bonsai --fork ${id}\`. If that process crashed, the session is free in ${seconds} s.`,
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
