import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createSession, type Session } from "@bonsai-agent/session";

/**
 * A new session for a sub-agent. Its file lies in a folder beside the parent's, which the session list does not look
 * into, and names the parent in its header. Beside a session in memory it is in memory too.
 */
export function subAgentSession(parent: Session, name: string): Session {
  const session = createSession({ cwd: parent.cwd, ...place(parent) });
  session.append({ type: "session_info", name });
  return session;
}

function place({ file }: Session): { id?: string; file?: string; parentSession?: string } {
  if (file === undefined) return {};
  const id = crypto.randomUUID();
  const folder = `${file.replace(/\.jsonl$/, "")}.tasks`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const startedAt = new Date().toISOString().replaceAll(/[:.]/g, "-");
  return { id, file: join(folder, `${startedAt}_${id}.jsonl`), parentSession: file };
}
