import { countAhead } from "@bonsai-agent/compaction/host";
import type { Session } from "@bonsai-agent/session";
import { betweenKeys } from "../between-keys.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** Pause after a session was opened or a run ended: the user's next action comes first. */
const IDLE_MS = 2000;
/** Pause between two updates. */
const PAUSE_MS = 30_000;

/**
 * Brings the full-text index up to date in its thread, when a session was opened and after runs. What is not indexed at the
 * end is read by whoever searches, and indexed by the next.
 * @returns ends that
 */
export function indexInBackground({ host, search }: InteractiveContext): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;
  let notBeforeMs = 0;
  const begin = () => {
    if (isRunning) return;
    clearTimeout(timer);
    timer = setTimeout(catchUp, Math.max(IDLE_MS, notBeforeMs - performance.now())).unref();
  };
  const catchUp = () => {
    // The end of the run starts it again.
    if (host.agent.isBusy) return;
    isRunning = true;
    search
      .catchUp()
      // A search reports the failure and reads the files.
      .catch(() => {})
      .finally(() => {
        isRunning = false;
        notBeforeMs = performance.now() + PAUSE_MS;
      });
  };
  const { lifecycle } = host.app;
  const ends = [lifecycle.on("session_start", begin), lifecycle.on("agent_end", begin)];
  return () => {
    for (const end of ends) end();
    clearTimeout(timer);
  };
}

/** Pause after a session was opened: the screen comes first. */
const firstMs = 100;
/** Pause while the agent works. */
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
      // The file is gone or closed: the next real use reports it.
    }
    if (session === host.agent.session) onCounted();
  }
  host.app.lifecycle.on("session_start", () => {
    stop();
    stop = betweenKeys(steps(host.agent.session), { firstMs, waitMs });
  });
  host.app.lifecycle.on("session_shutdown", () => stop());
}
