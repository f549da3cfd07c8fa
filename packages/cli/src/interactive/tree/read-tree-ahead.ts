import type { Session } from "@bonsai-agent/session";
import type { InteractiveWork } from "../interactive-work.ts";
import { RecordKinds } from "./record-kinds.ts";

/** So long after a session was opened, and after each look at an agent that is at work. */
const waitMs = 600;
/** So long is read in one go: a key that is pressed meanwhile waits no longer. */
const sliceMs = 5;

/** Reads of each session that is opened, between the keys, what its tree needs first: `/tree` then opens at once. */
export function readTreeAhead({ host }: Pick<InteractiveWork, "host">): void {
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number, session: Session, from: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => read(session, from), ms).unref();
  };
  const read = (session: Session, from: number) => {
    if (session !== host.agent.session) return;
    if (host.agent.isBusy) return wait(waitMs, session, from);
    const next = readSlice(session, from);
    if (next !== undefined) wait(1, session, next);
  };
  const begin = () => wait(waitMs, host.agent.session, 0);
  host.workshop.lifecycle.on("session_start", begin);
  host.workshop.lifecycle.on("session_shutdown", () => clearTimeout(timer));
}

/** @returns where to go on; undefined at the end */
function readSlice(session: Session, from: number): number | undefined {
  try {
    return RecordKinds.of(session).readAhead(from, sliceMs);
  } catch {
    // The file is gone or closed: who opens the tree is told.
    return undefined;
  }
}
