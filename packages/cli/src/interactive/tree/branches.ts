import type { MergeOptions } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import { branchDiffReport, branchDiffView } from "../../views/branch-diff.ts";
import { errorText } from "../../views/error-text.ts";
import { freeAmong } from "../../views/session-facts.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { askYes } from "../panels/ask.ts";
import { showReport } from "../panels/report-panel.ts";

/** Compares an entry with the session's leaf. Errors become notices. */
export async function showBranchDiff(context: InteractiveContext, entryId: string): Promise<void> {
  const { agent, app } = context.host;
  try {
    const report = branchDiffReport({
      session: agent.session,
      settings: app.settings.compaction,
      a: entryId,
      b: agent.session.leafId,
      isFree: freeAmong([...app.models.catalogue.models, agent.model]),
    });
    const nowMs = app.call.io.now();
    await showReport(context.screen, (width) => branchDiffView({ report, width, nowMs }));
  } catch (error) {
    context.notify(errorText(error), "error");
  }
}

type MergeChoice = Pick<MergeOptions, "focus" | "useDigest">;

/** Summarises another branch into this one. Offers the digest if the summary fails. */
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

/** @returns false if the summary failed and the digest is left to try */
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
