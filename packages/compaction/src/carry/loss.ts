import { callsIn, estimateTokens, type Message, messageText } from "@bonsai-agent/messages";
import { paragraphs } from "@bonsai-agent/messages/host";
import { counted, count as digits } from "@bonsai-agent/messages/numbers";
import { type CompactionEntry, type Entry, storedProviderSummary } from "@bonsai-agent/session";
import {
  besideOf,
  type CarriedCounts,
  type LossCount,
  type LossReport,
  MAX_REPORTED_TERMS,
  manifestOf,
  type SpanRecord,
  type TermIndex,
  type TermUse,
} from "../details.ts";
import type { ViewItem } from "../plan/view.ts";
import { newestLines, outcomeLine } from "../record/outcomes.ts";
import { clippedLine, isMeasure, termsIn, textsIn } from "../record/sentence.ts";
import type { CompactionSettings } from "../settings.ts";
import { type CarryOver, carriedBlocks } from "./carry-over.ts";
import { ShownFacts } from "./shown-facts.ts";

/** The checked kinds of facts, in the order in which they are put back: open work first. */
const OUTCOME_KINDS = [
  ["failing", "failing command"],
  ["openTodos", "open to-do"],
  ["irreversible", "irreversible command"],
] as const;
const REQUESTS = ["requests", "open request"] as const;
const KINDS = [REQUESTS, ...OUTCOME_KINDS, ["terms", "term"]] as const;

const CHECKED_TERMS = 100;
const MAX_REQUEST_CHARS = 240;

/** The texts of a context after a summary. */
interface ShownTexts {
  summary: string;
  /** The kept messages. Default: none. */
  kept?: string | undefined;
  /** The user's words and other data. They can request a command, but do not report its result. Default: none. */
  carried?: string | undefined;
  /** Lines that only name terms. A command counts as lost even if they name its files. Default: none. */
  index?: readonly string[] | undefined;
  /** The user's request, if the kept messages continue it. */
  openRequest?: { text: string; entryId: string } | undefined;
}

/**
 * Compares the facts of a span with the text of the context after its summary. Returns the report, and the lost facts to
 * put back as lines.
 * @param putBackTokens maximum tokens of facts to put back
 */
export function checkLoss(
  { outcomes, terms }: SpanRecord,
  { summary, kept = "", carried = "", index = [], openRequest }: ShownTexts,
  putBackTokens: number,
): { report: LossReport; lines: readonly string[] } {
  const back = new PutBack(putBackTokens);
  const noted = new ShownFacts(summary);
  const isHidden = openRequest !== undefined && noted.hidesRequest(openRequest.text, outcomes.openTodos);
  const hidden = isHidden ? [requestLine(openRequest)] : [];
  const requests = count(
    openRequest === undefined ? 0 : 1,
    hidden.length,
    back.add(headingOf(REQUESTS), hidden),
  );
  const shown = [noted, new ShownFacts(kept)];
  const listed = [...shown, new ShownFacts(carried)];
  const counts = OUTCOME_KINDS.map((named) => {
    const [kind] = named;
    const places = kind === "openTodos" ? listed : shown;
    const lost = outcomes[kind].filter((outcome) => !places.some((place) => place.has(outcome)));
    const putBack = back.add(
      headingOf(named),
      lost.map((fact) => outcomeLine(fact)),
    );
    return [kind, count(outcomes[kind].length, lost.length, putBack)] as const;
  });
  const context = paragraphs([summary, kept, carried]).toLowerCase();
  const indexed = termsIn(index.join("\n"));
  const used = terms.uses.filter(({ term }) => !isMeasure(term)).slice(0, CHECKED_TERMS);
  const isShown = (term: string) => indexed.has(term) || hasName(context, shortName(term).toLowerCase());
  const lost = used.filter(({ term }) => !isShown(term));
  const termsBack = back.addTerms(lost);
  const lostTerms = lost.filter(({ term }) => !termsBack.has(term)).slice(0, MAX_REPORTED_TERMS);
  return {
    lines: back.lines,
    report: {
      ...(Object.fromEntries(counts) as Record<keyof SpanRecord["outcomes"], LossCount>),
      requests,
      terms: count(used.length, lost.length, termsBack.size),
      lostTerms: lostTerms.map(({ term, entryId }) => ({ term, entryId })),
    },
  };
}

function count(all: number, lost: number, putBack: number): LossCount {
  return { kept: all - lost, lost, putBack };
}

function headingOf([, noun]: readonly [kind: string, noun: string]): string {
  return `${noun[0]!.toUpperCase()}${noun.slice(1)}s:`;
}

function requestLine({ text, entryId }: { text: string; entryId: string }): string {
  return `- ${clippedLine(text, MAX_REQUEST_CHARS)} [${entryId}]`;
}

/** The last folder and the file of a path. Returns other terms unchanged. */
function shortName(term: string): string {
  return term.includes("://") ? term : term.split("/").slice(-2).join("/");
}

/** True if the text has the exact name: `src/a.tsx` does not show `src/a.ts`. */
function hasName(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1))
    if (!isWordSign(text[at - 1]) && !isWordSign(text[at + name.length])) return true;
  return false;
}

function isWordSign(sign: string | undefined): boolean {
  return sign !== undefined && /[A-Za-z0-9_]/.test(sign);
}

const INTRODUCTION = "The summary above leaves these facts out. They come from the records of the session.";

/** Maximum share of the tokens for terms. Terms need less room than acts, because recall finds them. */
const TERMS_SHARE = 0.4;

/** Collects lines under headings while there is room. */
class PutBack {
  readonly lines: string[] = [];
  readonly #tokens: number;
  #left: number;

  constructor(tokens: number) {
    this.#tokens = tokens;
    this.#left = tokens - estimateTokens(INTRODUCTION);
  }

  /** Adds the newest lines that fit. @returns their number */
  add(heading: string, lines: readonly string[]): number {
    const kept = newestLines(lines, this.#left - estimateTokens(heading));
    this.#push(heading, kept);
    return kept.length;
  }

  addTerms(uses: TermUse[]): ReadonlySet<string> {
    const left = Math.min(this.#left, this.#tokens * TERMS_SHARE);
    const [, ...lines] = termLines({ messages: 0, uses }, left, () => false);
    this.#push("Terms:", lines);
    const text = lines.join("\n");
    return new Set(uses.map(({ term }) => term).filter((term) => text.includes(term)));
  }

  #push(heading: string, lines: readonly string[]): void {
    if (lines.length === 0) return;
    if (this.lines.length === 0) this.lines.push(INTRODUCTION);
    this.lines.push(heading, ...lines);
    this.#left -= estimateTokens([heading, ...lines].join("\n"));
  }
}

/**
 * The first terms of the index that fit, each once, as one line after an introduction; empty if no term fits. The entry
 * of each term is in the record: in the text, it would take half of the tokens.
 * @param isShown true for a term that the context shows anyway
 */
export function termLines(index: TermIndex, maxTokens: number, isShown: (term: string) => boolean): string[] {
  const chosen: string[] = [];
  let tokens = estimateTokens(TERMS_INTRODUCTION);
  for (const { term } of index.uses) {
    if (isMeasure(term) || isShown(term) || chosen.some((other) => other.includes(term))) continue;
    const size = estimateTokens(`, ${term}`);
    if (tokens + size > maxTokens) {
      if (tokens + MINIMUM_TERM_TOKENS > maxTokens) break;
      continue;
    }
    tokens += size;
    chosen.push(term);
  }
  return chosen.length === 0 ? [] : [TERMS_INTRODUCTION, chosen.join(", ")];
}

const TERMS_INTRODUCTION =
  "Exact terms from the conversation that appear nowhere else here; recall finds their entries:";
const MINIMUM_TERM_TOKENS = 4;

interface CheckOptions {
  prose: string;
  /** The kept messages, which the context shows beside the summary. Default: none. */
  kept?: readonly ViewItem[];
  settings: Pick<CompactionSettings, "lossCheck">;
  /** Tokens that the index of terms may take. */
  termsTokens: number;
  /** Maximum tokens of facts to put back: 0 for an extract, which contains them, and for an extension's own text. */
  putBackTokens: number;
}

/**
 * Adds the parts that depend on the prose: terms that the context does not show anyway, and facts that the summary left
 * out. Returns the loss too, unless the check is off.
 */
export function checkedCarryOver(
  carried: CarryOver,
  options: CheckOptions,
): { carried: CarryOver; loss?: LossReport | undefined } {
  const { prose, kept: items = [], settings, termsTokens, putBackTokens } = options;
  const { record, latestRequest } = carried;
  const kept = paragraphs(items.map(({ message }) => shownText(message)));
  const blocks = paragraphs(carriedBlocks(carried));
  const shownTerms = termsIn(paragraphs([prose, kept, blocks]));
  const terms = termLines(record.terms, termsTokens, (term) => shownTerms.has(term));
  if (settings.lossCheck === "off") return { carried: { ...carried, terms } };
  // Kept messages without a new request continue the latest one.
  const openRequest = isAnswered(items.at(-1)?.message) ? undefined : latestRequest;
  const shown = { summary: prose, kept, carried: blocks, index: terms, openRequest };
  const { lines: putBack, report: loss } = checkLoss(record, shown, putBackTokens);
  return { carried: { ...carried, terms, putBack }, loss };
}

function isAnswered(last: Message | undefined): boolean {
  return last?.role === "assistant" ? last.stopReason === "stop" : last === undefined;
}

/** The text of a message as the model reads it, with the arguments of its calls. */
function shownText(message: Message): string {
  return [messageText(message), ...callsIn(message).flatMap((call) => textsIn(call.arguments))].join("\n");
}

/** Counts of the carried data and of the lost facts. Each is absent if it was not counted or checked. */
export interface SummaryLoss {
  carried?: CarriedCounts | undefined;
  loss?: LossReport | undefined;
  /** The summary that the provider made, or would make, on its side. */
  provider?: { isSealed?: boolean | undefined } | undefined;
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
export function lossLines({ carried, loss, provider }: SummaryLoss, { isPlan = false } = {}): LossLine[] {
  return [
    ...(provider === undefined ? [] : [{ text: providerText(provider, isPlan), isLoss: false }]),
    ...(carried === undefined ? [] : [{ text: carriedText(carried), isLoss: false }]),
    ...(loss === undefined ? [] : checkedLines(loss, isPlan)),
  ];
}

function providerText({ isSealed = false }: { isSealed?: boolean | undefined }, isPlan: boolean): string {
  if (isSealed)
    return `The model ${isPlan ? "will also see" : "also sees"} a sealed summary, which only its provider can read.`;
  return `The provider ${isPlan ? "will write" : "wrote"} the summary on its side.`;
}

function carriedText({ words, wordsLeftOut, knownTerms }: CarriedCounts): string {
  const leftOut = wordsLeftOut === 0 ? "" : `, ${digits(wordsLeftOut)} left out`;
  return `Kept word for word: ${counted(words, "user message")}${leftOut}. Exact terms recorded: ${digits(knownTerms)}.`;
}

function checkedLines(loss: LossReport, isPlan: boolean): LossLine[] {
  const checked = KINDS.map(([kind, noun]) => ({ ...loss[kind], noun }));
  const lost = checked.filter((each) => each.lost > 0);
  if (lost.length === 0) {
    const found = checked.filter(({ kept }) => kept > 0).map(({ kept, noun }) => counted(kept, noun));
    const nothing = isPlan ? "Kept in any case" : "The check found nothing missing";
    return found.length === 0 ? [] : [{ text: `${nothing}: ${found.join(", ")}.`, isLoss: false }];
  }
  const heading = isPlan ? "Depends on the summary" : "Missing from the summary";
  const isLoss = lost.some((each) => each.putBack < each.lost);
  return [
    { text: `${heading}: ${lost.map((each) => lostText(each, isPlan)).join(", ")}.`, isLoss },
    ...termLine(loss, isPlan),
  ];
}

/** `2 of 3 failing commands (1 put back)`. */
function lostText({ kept, lost, putBack, noun }: LossCount & { noun: string }, isPlan: boolean): string {
  const verb = isPlan ? "added if missing" : "added";
  const back = putBack === 0 ? "" : ` (${putBack >= lost ? "" : `${digits(putBack)} `}${verb})`;
  return `${digits(lost)} of ${counted(kept + lost, noun)}${back}`;
}

function termLine({ terms, lostTerms }: LossReport, isPlan: boolean): LossLine[] {
  if (lostTerms.length === 0) return [];
  const named = lostTerms.map(({ term, entryId }) => (entryId === undefined ? term : `${term} (${entryId})`));
  const others = terms.lost - terms.putBack - named.length;
  const more = others > 0 ? ` and ${digits(others)} more` : "";
  const heading = isPlan ? "Terms that depend on the summary" : "Missing terms";
  return [{ text: `${heading}, most used first: ${named.join(", ")}${more}.`, isLoss: !isPlan }];
}

/**
 * Reads the counts that a compaction stored. An extension's own details have no room for them: then the entry before it
 * has the loss.
 * @param entryBefore the compaction's parent
 */
export function summaryLoss(compaction: CompactionEntry, entryBefore: Entry | undefined): SummaryLoss {
  const { carried, loss } = manifestOf(compaction) ?? {};
  const provider = storedProviderSummary(compaction);
  return { carried, loss: loss ?? besideOf(entryBefore)?.loss, provider };
}
