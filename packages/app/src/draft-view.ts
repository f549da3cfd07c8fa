import type { CompactionDraft, ReviewDecision } from "@bonsai-agent/compaction";
import type { Model } from "@bonsai-agent/messages";
import {
  type CompactionReport,
  compactionReport,
  lossView,
  plannedCost,
  plannedText,
  requestWords,
} from "./compact-view.ts";
import { type Line, paragraph, quoted, span } from "./line.ts";
import { count, counted } from "./numbers.ts";
import { planPicture, planView } from "./plan-view.ts";
import { oneLine, printable, wrap } from "./terminal-text.ts";

type Action = ReviewDecision["action"];

/** In the order in which they are offered. */
const order: readonly Action[] = ["apply", "edit", "again", "digest", "back", "cancel"];

/** What can be decided on a draft, with a word for it. */
export function draftActions({ stage, actions }: CompactionDraft): { action: Action; label: string }[] {
  const labels: Readonly<Record<Action, string>> = {
    apply: stage === "plan" ? "Ask the model" : "Apply",
    edit: "Edit the summary",
    again: "Another focus",
    digest: "Use the digest",
    back: "Back to the draft",
    cancel: "Cancel",
  };
  return order.filter((action) => actions.has(action)).map((action) => ({ action, label: labels[action] }));
}

/** One line that says what is asked. */
export function draftTitle({ stage, result }: CompactionDraft): string {
  if (stage === "plan") return "Compact? Nothing has been sent or written yet.";
  return result.summary === undefined
    ? "Mask old outputs? Nothing is written yet."
    : "Compact with this summary? Nothing is written yet.";
}

/** What there is to know beside the picture and the summary: a paragraph each. */
export function draftFacts(draft: CompactionDraft, model: Model): string[] {
  const { stage, result, summariser, isEdited, focus, caveat } = draft;
  const cost = plannedCost(result, model);
  const by = stage === "ready" && summariser !== undefined ? [`The summary of ${oneLine(summariser)}`] : [];
  const spent = result.requests > 0 ? [`so far ${requestWords(result)}`] : [];
  const made = [...by, ...(isEdited ? ["edited by you"] : []), ...spent].join(", ");
  return [
    ...(cost === undefined ? [] : [plannedText(cost)]),
    ...(made === "" ? [] : [`${made.slice(0, 1).toUpperCase()}${made.slice(1)}.`]),
    ...(focus === undefined ? [] : [`Focus: ${focus}`]),
    ...(caveat === undefined ? [] : [caveat]),
  ];
}

/** "107,364 → about 21,000 tokens". */
export function sizesText({ stage, result: { tokensBefore, tokensAfter } }: CompactionDraft): string {
  return `${count(tokensBefore)} → ${stage === "plan" ? "about " : ""}${counted(tokensAfter, "token")}`;
}

/** All of a draft, for a screen. */
export function* draftView(draft: CompactionDraft, model: Model, width: number): Generator<Line> {
  const { stage, result, before, problem, userWords } = draft;
  if (problem !== undefined) yield* paragraph(printable(problem), width, "yellow");
  yield [span(stage === "plan" ? "Plan" : "Draft", ["bold", "green"]), `  ${sizesText(draft)}`];
  for (const text of draftFacts(draft, model)) yield* paragraph(printable(text), width);
  yield [];
  yield* planView({ picture: planPicture(result, before), width });
  yield [];
  yield* lossView(result, { width, isPlan: stage === "plan" });
  const shown = result.summary ?? userWords.join("\n");
  if (shown === "") return;
  yield [span(result.summary === undefined ? "Carried of your words" : "As the model will see it", "bold")];
  const lines = shown.split("\n").flatMap((text) => wrap(printable(text), width - 4));
  yield* quoted(lines, "cyan");
}

/** A draft as data, for a program. */
export interface DraftReport {
  stage: CompactionDraft["stage"];
  reason: CompactionDraft["reason"];
  result: CompactionReport;
  userWords: readonly string[];
  prose?: string | undefined;
  isEdited: boolean;
  focus?: string | undefined;
  summariser?: string | undefined;
  caveat?: string | undefined;
  problem?: string | undefined;
  actions: readonly Action[];
}

export function draftReport(draft: CompactionDraft, model: Model): DraftReport {
  const { stage, reason, result, userWords, prose, isEdited, focus, summariser, caveat, problem } = draft;
  const cost = plannedCost(result, model);
  return {
    stage,
    reason,
    result: compactionReport(result, { decidedBy: result.decidedBy, cost }),
    userWords,
    prose,
    isEdited,
    focus,
    summariser,
    caveat,
    problem,
    actions: draftActions(draft).map(({ action }) => action),
  };
}
