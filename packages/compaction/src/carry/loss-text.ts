import { isRecord, textHead } from "@bonsai-agent/messages";
import { type CompactionEntry, type Entry, RECORD_CUSTOM_TYPE } from "@bonsai-agent/session";
import { type CarriedCounts, digits, manifestOf } from "../flow/outcome.ts";
import type { LossCount, LossReport } from "./loss.ts";

/** What a summary carries as data, and what it left out; absent where that was not counted or checked. */
export interface SummaryLoss {
  carried?: CarriedCounts | undefined;
  loss?: LossReport | undefined;
}

/** A part of what is to be said of a loss. */
interface LossLine {
  text: string;
  /** True where something is lost. */
  isLoss: boolean;
}

/**
 * In plain words, a paragraph each: what is carried, what is lost, and which terms; none where nothing is known.
 * @param isPlan true for a summary that is not written yet: what is lost is then what only its own words can keep
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

/** What is checked, in the order in which it is put back. */
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
 * What is recorded of a compaction. An extension's own details have no room for it: there, the entry before has it.
 * @param entryBefore the compaction's parent
 */
export function summaryLoss(compaction: CompactionEntry, entryBefore: Entry | undefined): SummaryLoss {
  const { carried, loss } = manifestOf(compaction) ?? {};
  return {
    carried: storedCarried(carried),
    loss: storedLoss(loss) ?? lossBeside(entryBefore),
  };
}

function lossBeside(entry: Entry | undefined): LossReport | undefined {
  if (entry?.type !== "custom" || entry.customType !== RECORD_CUSTOM_TYPE) return undefined;
  return isRecord(entry.data) ? storedLoss(entry.data.loss) : undefined;
}

// A stored record can be damaged: what is not whole is not shown.

function storedCarried(value: unknown): CarriedCounts | undefined {
  if (!isRecord(value)) return undefined;
  const { words, wordsLeftOut, knownTerms } = value;
  return isCount(words) && isCount(wordsLeftOut) && isCount(knownTerms)
    ? { words, wordsLeftOut, knownTerms }
    : undefined;
}

function storedLoss(value: unknown): LossReport | undefined {
  if (!isRecord(value)) return undefined;
  const { failing, irreversible, openTodos, terms, lostTerms } = value;
  if (!isLossCount(failing) || !isLossCount(irreversible)) return undefined;
  if (!isLossCount(openTodos) || !isLossCount(terms)) return undefined;
  const named = Array.isArray(lostTerms) ? lostTerms.slice(0, REPORTED_TERMS).flatMap(storedTerm) : [];
  return { failing, irreversible, openTodos, terms, lostTerms: named };
}

const REPORTED_TERMS = 20;
const TERM_CHARS = 200;

function storedTerm(value: unknown): { term: string; entryId?: string }[] {
  if (!isRecord(value) || typeof value.term !== "string") return [];
  const term = textHead(value.term, TERM_CHARS);
  return [typeof value.entryId === "string" ? { term, entryId: value.entryId } : { term }];
}

function isLossCount(value: unknown): value is LossCount {
  return isRecord(value) && isCount(value.kept) && isCount(value.lost) && isCount(value.putBack);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
