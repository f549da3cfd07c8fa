import { spawnSync } from "node:child_process";
import { sendSignal } from "./process-tree.ts";

/** First processes of the commands that run now; each leads a group of its own. */
const running = new Set<number>();

/**
 * Has a command ended with this process, should that end before it.
 * @param pid of a process that leads a group of its own; undefined for a command that could not be started
 * @returns what is to be called when the command has ended
 */
export function runningCommand(pid: number | undefined): () => void {
  if (pid === undefined) return () => {};
  running.add(pid);
  return () => void running.delete(pid);
}

/**
 * Ends at once, without asking, whatever commands run in this process: for a process that is about to end itself and
 * can wait for nothing. What left its command's group is not reached; aborting in good order reaches it.
 */
export function killRunningCommands(): void {
  for (const pid of running) {
    if (process.platform === "win32") spawnSync("taskkill", ["/pid", String(pid), "/T", "/F"]);
    else sendSignal(-pid, "SIGKILL");
  }
  running.clear();
}
