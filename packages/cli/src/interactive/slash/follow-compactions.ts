import { onCompactionEnd } from "../../call/compactions.ts";
import { compactionNotice } from "../../views/compaction-notice.ts";
import type { InteractiveContext } from "../interactive-context.ts";

/** Shows the session after each compaction, and a notice below it. */
export function followCompactions({ host, chat, notify }: InteractiveContext): void {
  /** An extension may refuse before every request; its reason is shown once. */
  let refusal: string | undefined;
  onCompactionEnd(host.app.lifecycle, (ended) => {
    const { outcome } = ended;
    const { session } = host.agent;
    const hasChanged = outcome.status === "compacted" || outcome.status === "masked";
    if (hasChanged) chat.rebuild(session, "compaction");
    const earlier = refusal;
    refusal = outcome.cancelReason;
    if (refusal !== undefined && refusal === earlier && outcome.reason !== "manual") return;
    const notice = compactionNotice(ended);
    const aboutEntryId = session.leafId ?? undefined;
    if (notice !== undefined)
      notify(notice.message, notice.level, hasChanged ? { aboutEntryId } : { attempt: "compaction" });
  });
}
