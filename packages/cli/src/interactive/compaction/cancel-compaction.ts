import type { InteractiveWork } from "../interactive-work.ts";

/**
 * Cancels the compaction that is under way, and nothing else: the run goes on, what is queued stays.
 * @returns false where there is none
 */
export function cancelCompaction({ host }: Pick<InteractiveWork, "host">): boolean {
  const { agent } = host;
  if (!agent.isCompacting) return false;
  agent.cancelCompaction();
  return true;
}
