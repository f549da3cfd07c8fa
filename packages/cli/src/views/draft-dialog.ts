import { type CompactionDraft, lossLines, type ReviewCompaction } from "@bonsai-agent/compaction";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import type { Model } from "@bonsai-agent/messages";
import { decisionOf, draftChoices, draftFacts, draftTitle } from "./draft-view.ts";
import { counted, sizeChange, tokensText } from "./numbers.ts";

/** The facts of a draft as one text, for a dialog that has no picture. */
function draftText(draft: CompactionDraft, model: Model): string {
  const { stage, result, problem } = draft;
  const { summarizedEntryIds, turnPrefixEntryIds, keptEntryIds, maskedEntryIds, sizes } = result;
  const summarised = summarizedEntryIds.length + turnPrefixEntryIds.length;
  const parts = [
    summarised === 0 ? "" : `summarised ${counted(summarised, "message")}`,
    maskedEntryIds.length === 0 ? "" : `masked ${counted(maskedEntryIds.length, "old tool result")}`,
    `kept ${counted(keptEntryIds.length, "message")} (${tokensText(sizes.keptTokens, true)})`,
    sizes.summaryTokens === 0 ? "" : `a summary of ${tokensText(sizes.summaryTokens, true)}`,
  ];
  const loss = lossLines(result, { isPlan: stage === "plan" }).map(({ text }) => text);
  return [
    ...(problem === undefined ? [] : [problem]),
    draftTitle(draft),
    `${sizeChange(draft.result)}: ${parts.filter((each) => each !== "").join(", ")}.`,
    ...draftFacts(draft, model),
    ...loss,
  ].join("\n");
}

interface DialogReviewOptions {
  ui: Pick<FrontEndUI, "select" | "input" | "editor">;
  /** Whose prices hold. */
  model: () => Model;
}

/** Decides by the dialogs that every front end has; whoever leaves one is asked again, whoever leaves the choice cancels. */
export function dialogReview({ ui, model }: DialogReviewOptions): ReviewCompaction {
  const review: ReviewCompaction = async (draft) => {
    const { signal } = draft;
    const offered = draftChoices(draft);
    const labels = offered.map(({ label }) => label);
    const picked = await ui.select(draftText(draft, model()), labels, { signal });
    const { choice } = offered.find(({ label }) => label === picked) ?? { choice: "cancel" };
    if (choice !== "edit" && choice !== "again") return decisionOf(choice, draft);
    const text =
      choice === "edit"
        ? await ui.editor("Edit the summary", draft.refusedProse ?? draft.prose)
        : await ui.input("What should the summary focus on?", draft.focus, { signal });
    if (text === undefined) return review(draft);
    return choice === "edit" ? { action: choice, prose: text } : { action: choice, focus: text };
  };
  return review;
}
