import { count as digits } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry, Entry } from "@bonsai-agent/session";
import { besideOf, type CarriedCounts, type LossCount, type LossReport, manifestOf } from "../details.ts";

/** Counts of the carried data and of the lost facts. Each is absent if it was not counted or checked. */
export interface SummaryLoss {
  carried?: CarriedCounts | undefined;
  loss?: LossReport | undefined;
}

/** One paragraph about the carried data or the loss. */
interface LossLine {
  text: string;
  /** True if something is lost. */
  isLoss: boolean;
}

/**
 * Describes the carried data, the loss and the lost terms in plain words, a paragraph each. Empty if nothing is known.
 * @param isPlan true for a summary that is not written yet: its loss is everything that only its own words can keep
 */
export function lossLines({ carried, loss }: SummaryLoss, { isPlan = false } = {}): LossLine[] {
  return [
    ...(carried === undefined ? [] : [{ text: carriedText(carried), isLoss: false }]),
    ...(loss === undefined ? [] : checkedLines(loss, isPlan)),
  ];
}

function carriedText({ words, wordsLeftOut, knownTerms }: CarriedCounts): string {
  const leftOut = wordsLeftOut === 0 ? "" : `, ${digits(wordsLeftOut)} left out`;
  return `Kept word for word: ${amount(words, "user message")}${leftOut}. Exact terms recorded: ${digits(knownTerms)}.`;
}

/** The checked kinds of facts, in the order in which they are put back. */
const KINDS = [
  ["failing", "failing command"],
  ["irreversible", "irreversible command"],
  ["openTodos", "open to-do"],
  ["terms", "term"],
] as const satisfies readonly (readonly [keyof LossReport, string])[];

function checkedLines(loss: LossReport, isPlan: boolean): LossLine[] {
  const checked = KINDS.map(([kind, noun]) => ({ ...loss[kind], noun }));
  const lost = checked.filter((each) => each.lost > 0);
  if (lost.length === 0) {
    const found = checked.filter(({ kept }) => kept > 0).map(({ kept, noun }) => amount(kept, noun));
    return found.length === 0
      ? []
      : [{ text: `${nothingLost(isPlan)}: ${found.join(", ")}.`, isLoss: false }];
  }
  const heading = isPlan ? "Depends on the summary" : "Missing from the summary";
  const isLoss = lost.some((each) => each.putBack < each.lost);
  return [
    { text: `${heading}: ${lost.map((each) => lostText(each, isPlan)).join(", ")}.`, isLoss },
    ...termLine(loss, isPlan),
  ];
}

function nothingLost(isPlan: boolean): string {
  return isPlan ? "Kept in any case" : "The check found nothing missing";
}

/** `2 of 3 failing commands (1 put back)`. */
function lostText({ kept, lost, putBack, noun }: LossCount & { noun: string }, isPlan: boolean): string {
  const verb = isPlan ? "added if missing" : "added";
  const back = putBack === 0 ? "" : ` (${putBack >= lost ? "" : `${digits(putBack)} `}${verb})`;
  return `${digits(lost)} of ${amount(kept + lost, noun)}${back}`;
}

function termLine({ terms, lostTerms }: LossReport, isPlan: boolean): LossLine[] {
  if (lostTerms.length === 0) return [];
  const named = lostTerms.map(({ term, entryId }) => (entryId === undefined ? term : `${term} (${entryId})`));
  const others = terms.lost - terms.putBack - named.length;
  const more = others > 0 ? ` and ${digits(others)} more` : "";
  const heading = isPlan ? "Terms that depend on the summary" : "Missing terms";
  return [{ text: `${heading}, most used first: ${named.join(", ")}${more}.`, isLoss: !isPlan }];
}

function amount(count: number, noun: string): string {
  return `${digits(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Reads the counts that a compaction stored. An extension's own details have no room for them: then the entry before it
 * has the loss.
 * @param entryBefore the compaction's parent
 */
export function summaryLoss(compaction: CompactionEntry, entryBefore: Entry | undefined): SummaryLoss {
  const { carried, loss } = manifestOf(compaction) ?? {};
  return { carried, loss: loss ?? besideOf(entryBefore)?.loss };
}
