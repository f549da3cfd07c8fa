import {
  type CompactionDraft,
  lossLines,
  type ReviewCompaction,
  type ReviewDecision,
} from "@bonsai-agent/compaction";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import { type Model, readableSummary } from "@bonsai-agent/messages";
import { compactionReport, lossView, plannedCost, plannedText, requestWords } from "./compact-view.ts";
import { excerpt, type Line, paragraph, span } from "./line.ts";
import { counted, sizeChange, tokensText } from "./numbers.ts";
import { planPicture, planView } from "./plan-view.ts";
import { oneLine, printable } from "./terminal-text.ts";

/** A way to cut a draft elsewhere. */
type CutChoice = keyof CompactionDraft["cuts"];

/** A choice for a draft; each other cut is one. */
export type DraftChoice = Exclude<ReviewDecision["action"], "cut"> | CutChoice;

const cutLabels: Readonly<Record<CutChoice, string>> = {
  earlier: "Keep more",
  later: "Keep less",
  earlierTurn: "Keep one more turn",
  laterTurn: "Keep one turn less",
};

export function isCutChoice(choice: DraftChoice): choice is CutChoice {
  return Object.hasOwn(cutLabels, choice);
}

/** In the order in which they are offered. */
const order: readonly DraftChoice[] = [
  "apply",
  "edit",
  "again",
  "digest",
  "earlier",
  "later",
  "earlierTurn",
  "laterTurn",
  "back",
  "cancel",
];

/** The possible choices for a draft, with labels. A cut also has its estimated kept tokens. */
export function draftChoices(
  draft: CompactionDraft,
): { choice: DraftChoice; label: string; keptTokens?: number | undefined }[] {
  const { stage, actions, cuts } = draft;
  const labels: Readonly<Record<Exclude<DraftChoice, CutChoice>, string>> = {
    apply: stage === "plan" ? "Write the summary" : "Apply",
    edit: "Edit the summary",
    again: "Change the focus",
    digest: "Use the digest",
    back: "Back to the draft",
    cancel: "Cancel",
  };
  const isOpen = (choice: DraftChoice) =>
    isCutChoice(choice) ? actions.has("cut") && cuts[choice] !== undefined : actions.has(choice);
  return order.filter(isOpen).map((choice) => {
    if (!isCutChoice(choice)) return { choice, label: labels[choice] };
    return { choice, label: cutLabels[choice], keptTokens: cuts[choice]?.keptTokens };
  });
}

/** The decision of a choice that needs no text. */
export function decisionOf(
  choice: Exclude<DraftChoice, "edit" | "again">,
  { cuts }: CompactionDraft,
): ReviewDecision {
  if (!isCutChoice(choice)) return { action: choice };
  return { action: "cut", firstKeptEntryId: cuts[choice]?.entryId ?? "" };
}

export function draftTitle({ stage, result }: CompactionDraft): string {
  if (stage === "plan") return "Compact? Nothing has been sent or saved yet.";
  return result.summary === undefined
    ? "Mask old tool results? Nothing is saved yet."
    : "Compact with this summary? Nothing is saved yet.";
}

/** Facts beside the picture and the summary: a paragraph each. */
export function draftFacts(draft: CompactionDraft, model: Model): string[] {
  const { stage, result, summariser, isEdited, focus, caveat } = draft;
  const cost = plannedCost(result, model);
  const by = stage === "ready" && summariser !== undefined ? [`Summary by ${oneLine(summariser)}`] : [];
  const spent = result.requests > 0 ? [`so far ${requestWords(result)}`] : [];
  const made = [...by, ...(isEdited ? ["edited by you"] : []), ...spent].join(", ");
  return [
    ...(cost === undefined ? [] : [plannedText(cost)]),
    ...(made === "" ? [] : [`${made.slice(0, 1).toUpperCase()}${made.slice(1)}.`]),
    ...(focus === undefined ? [] : [`Focus: ${focus}`]),
    ...(caveat === undefined ? [] : [caveat]),
  ];
}

/** All of a draft, for a screen. */
export function* draftView(draft: CompactionDraft, model: Model, width: number): Generator<Line> {
  const { stage, result, before, problem, userWords } = draft;
  if (problem !== undefined) yield* paragraph(printable(problem), width, "yellow");
  yield [span(stage === "plan" ? "Plan" : "Draft", ["bold", "green"]), `  ${sizeChange(result)}`];
  for (const text of draftFacts(draft, model)) yield* paragraph(printable(text), width);
  yield [];
  yield* planView(planPicture(result, before), width);
  yield [];
  yield* lossView(result, { width, isPlan: stage === "plan" });
  const shown = result.summary === undefined ? userWords.join("\n") : readableSummary(result.summary);
  if (shown === "") return;
  yield [span(result.summary === undefined ? "Copied from your messages" : "Summary", "bold")];
  yield* excerpt(shown, { width, style: "cyan" });
}

/** A draft as data, for a program. */
export type DraftReport = ReturnType<typeof draftReport>;

export function draftReport(draft: CompactionDraft, model: Model) {
  const { stage, reason, userWords, prose, isEdited, focus, summariser, caveat, problem, cuts } = draft;
  const result = compactionReport(draft.result, { decidedBy: draft.result.decidedBy, model });
  const facts = { userWords, prose, isEdited, focus, summariser, caveat, problem, cuts };
  return { stage, reason, result, ...facts, actions: [...draft.actions] };
}

/** The facts of a draft as one text, for dialogs. */
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

/**
 * Reviews a draft in plain dialogs. A closed input asks again; a closed choice cancels.
 * @param textOf the question's text
 */
export function dialogReview(
  ui: Pick<FrontEndUI, "select" | "input" | "editor">,
  model: () => Model,
  textOf: (draft: CompactionDraft, model: Model) => string = draftText,
): ReviewCompaction {
  const review: ReviewCompaction = async (draft) => {
    const { signal } = draft;
    const offered = draftChoices(draft);
    const labels = offered.map(({ label }) => label);
    const picked = await ui.select(textOf(draft, model()), labels, { signal });
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
