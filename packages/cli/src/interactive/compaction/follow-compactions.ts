import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { InteractiveWork } from "../interactive-work.ts";
import { compactionWords, refusalOf } from "./compaction-words.ts";

/**
 * Shows each compaction when it has ended: the chat as the session is now, and below it what was done. That one failed
 * for the threshold, or that the breaker opened, is told by the agent's notices, once.
 * @returns ends it
 */
export function followCompactions(
  work: Pick<InteractiveWork, "host" | "chat" | "tell">,
  lifecycle: Lifecycle<LifecycleEvents>,
): () => void {
  let maskedResults = 0;
  let error: Error | undefined;
  /** An extension that lets no automatic compaction happen says so before every request. */
  let refusal: string | undefined;
  const ends = [
    lifecycle.on("auto_compaction_start", () => {
      maskedResults = 0;
      error = undefined;
    }),
    lifecycle.on("session_mask", ({ entries }) => {
      maskedResults = entries.length;
    }),
    lifecycle.on("session_compact_failed", (failed) => {
      error = failed.error;
    }),
    lifecycle.on("auto_compaction_end", ({ outcome, result }) => {
      const hasChanged = outcome.status === "compacted" || outcome.status === "masked";
      if (hasChanged) work.chat.rebuild(work.host.agent.session, "compaction");
      const earlier = refusal;
      refusal = refusalOf(outcome);
      if (refusal !== undefined && refusal === earlier && outcome.reason !== "manual") return;
      const words = compactionWords({ outcome, entry: result, maskedResults, error });
      const { leafId } = work.host.agent.session;
      const about = hasChanged ? { aboutEntryId: leafId ?? undefined } : { attempt: "compaction" as const };
      if (words !== undefined) work.tell({ ...words, ...about });
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
