import { callsIn, estimateTokens, type Message, messageText } from "@bonsai-agent/messages";
import { paragraphs } from "@bonsai-agent/messages/host";
import { counted, count as digits } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry, Entry } from "@bonsai-agent/session";
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
import { newestLines, type Outcome, outcomeLine } from "../record/outcomes.ts";
import { contentWords, isMeasure, termsIn, textsIn } from "../record/sentence.ts";
import type { CompactionSettings } from "../settings.ts";
import { type CarryOver, carriedBlocks } from "./carry-over.ts";

/** The checked kinds of facts, in the order in which they are put back. */
const OUTCOME_KINDS = [
  ["irreversible", "irreversible command"],
  ["failing", "failing command"],
  ["openTodos", "open to-do"],
] as const;
const KINDS = [...OUTCOME_KINDS, ["terms", "term"]] as const;

const CHECKED_TERMS = 100;

/**
 * Compares the facts of a span with the text of the context after its summary. Returns the report, and the lost facts to
 * put back as lines.
 * @param index lines that only name terms: a command counts as lost even if they name its files
 * @param carried the user's words and other data: they can ask for a command, but do not say how it ended. Default: none
 * @param putBackTokens maximum tokens of facts to put back
 */
export function checkLoss(
  { outcomes, terms }: SpanRecord,
  { text, carried = "", index = [] }: { text: string; carried?: string; index?: readonly string[] },
  putBackTokens: number,
): { report: LossReport; lines: readonly string[] } {
  const context = new ShownText(paragraphs([text, carried]));
  const reports = new ShownText(text);
  const back = new PutBack(putBackTokens);
  const counts = OUTCOME_KINDS.map(([kind, noun]) => {
    const shown = kind === "openTodos" ? context : reports;
    const lost = outcomes[kind].filter((outcome) => !shown.hasOutcome(outcome));
    const putBack = back.add(`${noun[0]!.toUpperCase()}${noun.slice(1)}s:`, lost.map(outcomeLine));
    return [kind, count(outcomes[kind].length, lost.length, putBack)] as const;
  });
  const indexed = termsIn(index.join("\n"));
  const used = terms.uses.filter(({ term }) => !isMeasure(term)).slice(0, CHECKED_TERMS);
  const lost = used.filter(({ term }) => !indexed.has(term) && !context.hasTerm(term));
  const termsBack = back.addTerms(lost);
  const lostTerms = lost.filter(({ term }) => !termsBack.has(term)).slice(0, MAX_REPORTED_TERMS);
  return {
    lines: back.lines,
    report: {
      ...(Object.fromEntries(counts) as Record<keyof SpanRecord["outcomes"], LossCount>),
      terms: count(used.length, lost.length, termsBack.size),
      lostTerms: lostTerms.map(({ term, entryId }) => ({ term, entryId })),
    },
  };
}

function count(all: number, lost: number, putBack: number): LossCount {
  return { kept: all - lost, lost, putBack };
}

/** The text of a context, prepared for searches. */
class ShownText {
  readonly #text: string;
  readonly #terms: ReadonlySet<string>;
  readonly #passages: readonly Passage[];

  constructor(text: string) {
    this.#text = plain(text);
    this.#terms = termsIn(text);
    this.#passages = passagesOf(text);
  }

  hasOutcome(outcome: Outcome): boolean {
    if ("text" in outcome) return this.#passages.some((passage) => hasLine(passage, outcome.text));
    const command = "times" in outcome ? outcome.command : outcome.key;
    if (this.#text.includes(plain(command))) return true;
    return this.#passages.some(
      (passage) =>
        hasCommand(passage, command) ||
        ("line" in outcome && hasLine(passage, outcome.line) && namesCommand(passage, command)),
    );
  }

  hasTerm(term: string): boolean {
    return this.#terms.has(term) || hasName(this.#text, term);
  }
}

/** A line with the lines around it: a fact counts as shown only if its words are together. */
interface Passage {
  text: string;
  words: ReadonlySet<string>;
}

function passagesOf(text: string): Passage[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const words = lines.map(contentWords);
  return lines.map((_, at) => {
    const [from, to] = [Math.max(0, at - 1), at + 2];
    return {
      text: plain(lines.slice(from, to).join(" ")),
      words: new Set(words.slice(from, to).flatMap((own) => [...own])),
    };
  });
}

/** True for all terms of the command, and most of its words. */
function hasCommand(passage: Passage, command: string): boolean {
  const terms = [...termsIn(command)];
  return (
    terms.length > 0 &&
    terms.every((term) => hasName(passage.text, term)) &&
    sharedWords(passage, command) >= MIN_SHARED_WORDS
  );
}

/** True for a term of the command, or half of its words. */
function namesCommand(passage: Passage, command: string): boolean {
  const terms = [...termsIn(command)];
  return terms.some((term) => hasName(passage.text, term)) || sharedWords(passage, command) >= 0.5;
}

/** True for the beginning of the line, or most of its words. */
function hasLine(passage: Passage, line: string): boolean {
  const text = plain(line);
  if (text === "") return false;
  const beginning = text.slice(0, BEGINNING_CHARS);
  return passage.text.includes(beginning) || sharedWords(passage, line) >= MIN_SHARED_WORDS;
}

/** The share of the words of a text that a passage has. */
function sharedWords(passage: Passage, text: string): number {
  const words = [...contentWords(text)];
  const shared = words.filter((word) => passage.words.has(word)).length;
  return words.length === 0 ? 0 : shared / words.length;
}

function hasName(text: string, name: string): boolean {
  const own = plain(name);
  for (let at = text.indexOf(own); at >= 0; at = text.indexOf(own, at + 1))
    if (!isWordSign(text[at - 1]) && !isWordSign(text[at + own.length])) return true;
  return false;
}

/** Detects longer names: `src/a.tsx` does not show `src/a.ts`. */
function isWordSign(sign: string | undefined): boolean {
  return sign !== undefined && /[A-Za-z0-9_]/.test(sign);
}

const BEGINNING_CHARS = 60;
const MIN_SHARED_WORDS = 0.8;

function plain(text: string): string {
  return text.replaceAll(/[`*]/g, "").replaceAll(/\s+/g, " ").trim().toLowerCase();
}

const INTRODUCTION = "The summary above leaves these facts out. They come from the records of the session.";

/** Collects lines under headings while there is room. */
class PutBack {
  readonly lines: string[] = [];
  #left: number;

  constructor(tokens: number) {
    this.#left = tokens - estimateTokens(INTRODUCTION);
  }

  /** Adds the newest lines that fit. @returns their number */
  add(heading: string, lines: readonly string[]): number {
    const kept = newestLines(lines, this.#left - estimateTokens(heading));
    this.#push(heading, kept);
    return kept.length;
  }

  addTerms(uses: TermUse[]): ReadonlySet<string> {
    const [, ...lines] = termLines({ messages: 0, uses }, this.#left, () => false);
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
  const { prose, kept = [], settings, termsTokens, putBackTokens } = options;
  const { record } = carried;
  const keptTexts = kept.map(({ message }) => shownText(message));
  const text = paragraphs([prose, ...keptTexts]);
  const blocks = paragraphs(carriedBlocks(carried));
  const shownTerms = termsIn(paragraphs([text, blocks]));
  const terms = termLines(record.terms, termsTokens, (term) => shownTerms.has(term));
  if (settings.lossCheck === "off") return { carried: { ...carried, terms } };
  const { lines: putBack, report: loss } = checkLoss(
    record,
    { text, carried: blocks, index: terms },
    putBackTokens,
  );
  return { carried: { ...carried, terms, putBack }, loss };
}

/** The text of a message as the model reads it, with the arguments of its calls. */
function shownText(message: Message): string {
  return [messageText(message), ...callsIn(message).flatMap((call) => textsIn(call.arguments))].join("\n");
}

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
  return { carried, loss: loss ?? besideOf(entryBefore)?.loss };
}
