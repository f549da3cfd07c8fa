import type { InteractiveContext } from "../interactive-context.ts";

/** So long after a session was opened, or a run has ended: what the user does then comes first. */
const IDLE_MS = 2000;
/** So long from the end of one to the next. */
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
    // The end of its run begins it again.
    if (host.agent.isBusy) return;
    isRunning = true;
    search
      .catchUp()
      // Who searches is told of what fails, and reads the files.
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
