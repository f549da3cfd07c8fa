import { estimateTokens } from "@bonsai-agent/messages";
import { failingLine, irreversibleLine, newestLines, todoLine } from "../record/digest.ts";
import type { SpanRecord } from "../record/record.ts";
import { contentWords, isMeasure, termsIn } from "../record/sentence.ts";
import { type TermUse, termLines } from "../record/terms.ts";

/** Of the things of one kind, how many the context still shows. */
export interface LossCount {
  kept: number;
  lost: number;
  /** Of the lost ones, how many were put back behind the summary. */
  putBack: number;
}

/** What a summary left out of what the record of its span holds. */
export interface LossReport {
  failing: LossCount;
  irreversible: LossCount;
  openTodos: LossCount;
  /** Of the hundred most used. */
  terms: LossCount;
  /** The most used ones that stay lost, at most twenty. */
  lostTerms: readonly { term: string; entryId?: string | undefined }[];
}

export interface LossCheck {
  report: LossReport;
  /** What is to be put back, as lines; none where nothing is. */
  lines: readonly string[];
}

const CHECKED_TERMS = 100;
export const MAX_REPORTED_TERMS = 20;

/** What a context shows after a summary. */
export interface ShownContext {
  text: string;
  /** Lines that name terms and tell nothing of them: a command of which they name a file is lost all the same. Default: none. */
  index?: readonly string[];
}

/**
 * Compares what stood in a span with what the context shows after its summary.
 * @param putBackTokens what may be put back
 */
export function checkLoss(
  record: SpanRecord,
  { text, index = [] }: ShownContext,
  putBackTokens: number,
): LossCheck {
  const context = new ShownText(text);
  const indexed = termsIn(index.join("\n"));
  const { failing, irreversible, openTodos } = record.outcomes;
  const lostFailing = failing.filter(({ key, line }) => !context.hasCommand(key) && !context.hasLine(line));
  const lostIrreversible = irreversible.filter(({ command }) => !context.hasCommand(command));
  const lostTodos = openTodos.filter(({ text }) => !context.hasLine(text));
  const used = record.terms.uses.filter(({ term }) => !isMeasure(term)).slice(0, CHECKED_TERMS);
  const lostTerms = used.filter(({ term }) => !indexed.has(term) && !context.hasTerm(term));

  const back = new PutBack(putBackTokens);
  const failingBack = back.add("Failing commands:", lostFailing.map(failingLine));
  const irreversibleBack = back.add("Irreversible commands:", lostIrreversible.map(irreversibleLine));
  const todosBack = back.add("Open to-dos:", lostTodos.map(todoLine));
  const termsBack = back.addTerms(lostTerms);
  return {
    lines: back.lines,
    report: {
      failing: count(failing.length, lostFailing.length, failingBack),
      irreversible: count(irreversible.length, lostIrreversible.length, irreversibleBack),
      openTodos: count(openTodos.length, lostTodos.length, todosBack),
      terms: count(used.length, lostTerms.length, termsBack.size),
      lostTerms: lostTerms
        .filter(({ term }) => !termsBack.has(term))
        .slice(0, MAX_REPORTED_TERMS)
        .map(({ term, entries: [entryId] }) => ({ term, entryId })),
    },
  };
}

function count(all: number, lost: number, putBack: number): LossCount {
  return { kept: all - lost, lost, putBack };
}

/** What a context says, ready to be searched. */
class ShownText {
  readonly #text: string;
  readonly #terms: ReadonlySet<string>;
  readonly #words: ReadonlySet<string>;

  constructor(text: string) {
    this.#text = plain(text);
    this.#terms = termsIn(text);
    this.#words = contentWords(text);
  }

  hasTerm(term: string): boolean {
    if (this.#terms.has(term)) return true;
    const text = plain(term);
    for (let at = this.#text.indexOf(text); at >= 0; at = this.#text.indexOf(text, at + 1))
      if (!isWordSign(this.#text[at - 1]) && !isWordSign(this.#text[at + text.length])) return true;
    return false;
  }

  /** The command itself, or everything specific in it. */
  hasCommand(command: string): boolean {
    if (this.#text.includes(plain(command))) return true;
    const terms = [...termsIn(command)];
    return terms.length > 0 && terms.every((term) => this.hasTerm(term)) && this.#sharesWords(command);
  }

  /** The line itself, its beginning, or most of its words. */
  hasLine(line: string): boolean {
    const text = plain(line);
    if (text === "") return false;
    return this.#text.includes(text.slice(0, BEGINNING_CHARS)) || this.#sharesWords(line);
  }

  #sharesWords(text: string): boolean {
    const words = [...contentWords(text)];
    const shared = words.filter((word) => this.#words.has(word)).length;
    return words.length > 0 && shared >= words.length * MOST_WORDS;
  }
}

/** A name is not shown by a longer one that holds it: `src/a.ts` not by `src/a.tsx`. */
function isWordSign(sign: string | undefined): boolean {
  return sign !== undefined && /[A-Za-z0-9_]/.test(sign);
}

const BEGINNING_CHARS = 60;
const MOST_WORDS = 0.8;

function plain(text: string): string {
  return text.replaceAll(/[`*]/g, "").replaceAll(/\s+/g, " ").trim().toLowerCase();
}

const INTRODUCTION = "The summary above leaves these facts out. They come from the records of the session.";

/** Lines under headings, as long as there is room. */
class PutBack {
  readonly lines: string[] = [];
  #left: number;

  constructor(tokens: number) {
    this.#left = tokens - estimateTokens(INTRODUCTION);
  }

  /** The newest ones that fit. @returns how many */
  add(heading: string, lines: readonly string[]): number {
    const kept = newestLines(lines, this.#left - estimateTokens(heading));
    this.#push(heading, kept);
    return kept.length;
  }

  addTerms(uses: readonly TermUse[]): ReadonlySet<string> {
    const [, ...lines] = termLines({ messages: 0, uses }, this.#left, () => false);
    this.#push("Terms, each with an entry that contains it:", lines);
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
