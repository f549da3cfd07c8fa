import { countAhead } from "@bonsai-agent/compaction/host";
import type { Session } from "@bonsai-agent/session";
import { betweenKeys } from "../between-keys.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** So long after a session was opened: it is shown first. */
const firstMs = 100;
/** So long an agent that is at work is left alone, before it is looked at again. */
const busyMs = 600;

/**
 * Does for each session that is opened, between the keys, what `/tree` and the first prompt would have to wait for.
 * @param onCounted called when the context can be counted in no time
 */
export function readAhead({ host }: InteractiveContext, onCounted: () => void): void {
  let stop = () => {};
  const waitMs = () => (host.agent.isBusy ? busyMs : 0);
  function* steps(session: Session): Generator<void> {
    try {
      for (const read of [() => session.readTreeAhead(), () => countAhead(session)])
        for (const _ of read()) {
          if (session !== host.agent.session) return;
          yield;
        }
    } catch {
      // The file is gone or closed, which is an error for whoever needs it.
    }
    if (session === host.agent.session) onCounted();
  }
  host.app.lifecycle.on("session_start", () => {
    stop();
    stop = betweenKeys(steps(host.agent.session), { firstMs, waitMs });
  });
  host.app.lifecycle.on("session_shutdown", () => stop());
}
