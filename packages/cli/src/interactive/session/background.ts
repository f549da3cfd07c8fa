import { countAhead } from "@bonsai-agent/compaction/host";
import type { Session } from "@bonsai-agent/session";
import { betweenKeys } from "../between-keys.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** Pause after a session was opened or a run ended: the user's next action comes first. */
const IDLE_MS = 2000;
/** Pause between two updates. */
const PAUSE_MS = 30_000;

/** Updates the full-text index in its thread after a session was opened and after runs. @returns ends that */
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

/** Reads each opened session between the keys, so that `/tree` and the first prompt do not wait. */
export function readAhead({ host }: InteractiveContext): void {
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
  }
  host.app.lifecycle.on("session_start", () => {
    stop();
    stop = betweenKeys(steps(host.agent.session), firstMs, waitMs);
  });
  host.app.lifecycle.on("session_shutdown", () => stop());
}
