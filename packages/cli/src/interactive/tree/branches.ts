import type { MergeOptions } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import { branchDiffReport } from "../../views/branch-diff-report.ts";
import { branchDiffView } from "../../views/branch-diff-view.ts";
import { freeAmong } from "../../views/session-facts.ts";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { askYes } from "../panels/ask.ts";
import { showReport } from "../panels/report-panel.ts";

/** Shows where two places part, and what was done on the way to each. What goes wrong is a notice. */
export async function showBranchDiff(
  context: InteractiveContext,
  a: string,
  b: string | null,
): Promise<void> {
  const { agent, app } = context.host;
  try {
    const report = branchDiffReport({
      session: agent.session,
      settings: app.settings.compaction,
      a,
      b,
      isFree: freeAmong([...app.models.catalogue.models, agent.model]),
    });
    const nowMs = app.call.io.now();
    await showReport(context.screen, (width) => branchDiffView({ report, width, nowMs }));
  } catch (error) {
    context.notify(errorText(error), "error");
  }
}

type MergeChoice = Pick<MergeOptions, "focus" | "useDigest">;

/** Brings the outcome of another branch here; where its summary fails, offers another way to make it. */
export async function mergeFlow(
  context: InteractiveContext,
  branchId: string,
  choice: MergeChoice = {},
): Promise<void> {
  const { screen } = context;
  let next: MergeChoice | undefined = choice;
  while (next !== undefined && !(await isMerged(context, branchId, next)) && !screen.panelsLeft.aborted) {
    const title = "Merge with the built-in digest?";
    const isDigest = await askYes(screen, { title, message: "The digest needs no model." });
    next = isDigest ? { ...choice, useDigest: true } : undefined;
  }
}

/** @returns false where the summary failed, and may be asked for in another way */
async function isMerged(
  context: InteractiveContext,
  branchId: string,
  choice: MergeChoice,
): Promise<boolean> {
  const { agent } = context.host;
  try {
    const { status, detail } = await context.interruptible((signal) =>
      agent.merge(branchId, { ...choice, ...(isNoModel(agent.model) && { useDigest: true }), signal }),
    );
    if (status === "merged") context.chat.rebuild(agent.session, "move");
    context.notify(detail, "info", status === "cancelled" ? { attempt: "move" } : {});
    return true;
  } catch (error) {
    context.notify(errorText(error), "error", { attempt: "move" });
    const isSummary = BonsaiError.is(error) && error.code === "branch_summary_failed";
    return !isSummary || choice.useDigest === true;
  }
}
