import { countAhead } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import type { InteractiveContext } from "../interactive-context.ts";

/** So long after a session was opened: it is shown first. */
const waitMs = 100;
/** So long an agent that is at work is left alone, before it is looked at again. */
const busyMs = 600;
/** So long is read in one go: a key that is pressed meanwhile waits no longer. */
const sliceMs = 5;

/**
 * Does for each session that is opened, between the keys, what `/tree` and the first prompt would have to wait for.
 * @param onCounted told when the context can be counted in no time
 */
export function readAhead({ host }: Pick<InteractiveContext, "host">, onCounted: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    const { session } = host.agent;
    let steps: Iterator<void> | undefined;
    const next = () => {
      if (session !== host.agent.session) return;
      if (host.agent.isBusy) return wait(busyMs);
      steps ??= stepsOf(session);
      if (advance(steps)) onCounted();
      else wait(1);
    };
    const wait = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(next, ms).unref();
    };
    wait(waitMs);
  };
  host.workshop.lifecycle.on("session_start", begin);
  host.workshop.lifecycle.on("session_shutdown", () => clearTimeout(timer));
}

function* stepsOf(session: Session): Generator<void> {
  yield* session.readTreeAhead();
  yield* countAhead(session);
}

/** @returns true at the end */
function advance(steps: Iterator<void>): boolean {
  const until = performance.now() + sliceMs;
  try {
    while (performance.now() < until) if (steps.next().done === true) return true;
    return false;
  } catch {
    // The file is gone or closed: whoever needs it is told.
    return true;
  }
}
