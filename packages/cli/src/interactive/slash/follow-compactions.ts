import { compactionNotice } from "../../views/compaction-notice.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** Shows the session after each compaction, and a notice below it. */
export function followCompactions({ host, chat, notify }: InteractiveContext): void {
  const { lifecycle } = host.app;
  let maskedResults = 0;
  let error: Error | undefined;
  /** An extension may refuse before every request; its reason is shown once. */
  let refusal: string | undefined;
  lifecycle.on("auto_compaction_start", () => {
    maskedResults = 0;
    error = undefined;
  });
  lifecycle.on("session_mask", ({ entries }) => {
    maskedResults = entries.length;
  });
  lifecycle.on("session_compact_failed", (failed) => {
    error = failed.error;
  });
  lifecycle.on("auto_compaction_end", ({ outcome, result }) => {
    const { session } = host.agent;
    const hasChanged = outcome.status === "compacted" || outcome.status === "masked";
    if (hasChanged) chat.rebuild(session, "compaction");
    const earlier = refusal;
    refusal = outcome.cancelReason;
    if (refusal !== undefined && refusal === earlier && outcome.reason !== "manual") return;
    const notice = compactionNotice({ outcome, entry: result, maskedResults, error });
    const aboutEntryId = session.leafId ?? undefined;
    if (notice !== undefined)
      notify(notice.message, notice.level, hasChanged ? { aboutEntryId } : { attempt: "compaction" });
  });
}
