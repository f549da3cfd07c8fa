import { callsIn, estimateTokens, type Message } from "@bonsai-agent/messages";
import { paragraphs } from "@bonsai-agent/messages/host";
import { counted } from "@bonsai-agent/messages/numbers";
import type { Outcomes, SaidMessage, SpanRecord } from "../details.ts";
import { linesTokens, outcomeLines, outcomesAfter } from "../record/outcomes.ts";
import {
  clippedLine,
  isMeasure,
  normalForm,
  sentencesOf,
  termsIn,
  textsIn,
  wordCount,
} from "../record/sentence.ts";
import {
  clippedWords,
  isUserMessage,
  joinedWords,
  type SourceMessage,
  saidIn,
  typedText,
} from "../record/statements.ts";
import { BASE_TOKENS, messageTerms } from "./record.ts";
import { ShownFacts } from "./shown-facts.ts";

interface GapTerm {
  term: string;
  /** The number of messages that contain it. A use by the user or in a call counts three times. */
  uses: number;
  /** The number of the latest message that contains it. */
  at: number;
}

/** Data about the past of another agent's session. It survives several compactions. Its secrets are not redacted. */
export interface GapRecord extends Pick<SpanRecord, "turns" | "unanswered" | "words" | "outcomes"> {
  /** The number of messages so far. */
  messages: number;
  /** The most useful first. */
  terms: readonly GapTerm[];
}

const NO_GAP: GapRecord = {
  turns: 0,
  words: { said: [], leftOut: 0 },
  outcomes: { failing: [], irreversible: [], openTodos: [] },
  messages: 0,
  terms: [],
};

const WORDS_TOKENS = 4_000;
const MAX_TERMS = 1_000;

/** Extends a record with more messages. @param earlier default: empty */
export function gapRecord(earlier: GapRecord = NO_GAP, messages: readonly SourceMessage[]): GapRecord {
  const { said, turns, unanswered } = saidIn(messages, earlier);
  const words = clippedWords(joinedWords(earlier.words, said), { maxTokens: WORDS_TOKENS });
  const outcomes = outcomesAfter(earlier.outcomes, messages);
  return { turns, unanswered, words, outcomes, ...rankedTerms(earlier, messages) };
}

/** Facts of a conversation that the context after a compaction does not show. */
export interface LostFacts extends Pick<Outcomes, "irreversible" | "failing"> {
  /** The user's messages, each with its missing sentences only. */
  said: readonly SaidMessage[];
  /** The most useful first. */
  terms: readonly string[];
}

/**
 * Finds the facts of a conversation that a context does not show.
 * @param shown the summary, and other texts that the agent puts back; empty if they are unknown
 */
export function lostFacts({ outcomes, words, terms }: GapRecord, shown: string): LostFacts {
  const facts = new ShownFacts(shown);
  const form = normalForm(shown);
  const isShown = (sentence: string) => form.includes(normalForm(sentence)) || facts.has({ text: sentence });
  return {
    irreversible: outcomes.irreversible.filter((act) => !facts.has(act)),
    failing: outcomes.failing.filter((failure) => !facts.has(failure)),
    said: words.said.flatMap((message) => {
      const missing = sentencesOf(message.text).filter((sentence) => !isShown(sentence));
      return missing.some(hasContent) ? [{ ...message, text: missing.join(" ") }] : [];
    }),
    terms: terms.map(({ term }) => term).filter((term) => !shown.includes(term)),
  };
}

/** False for "yes, go on". */
function hasContent(sentence: string): boolean {
  return wordCount(sentence) >= MIN_SENTENCE_WORDS || termsIn(sentence).size > 0;
}

const MIN_SENTENCE_WORDS = 4;

/** Longer arguments are contents of files. */
const MAX_ARGUMENT_CHARS = 400;
/** Messages that a use in a call or by the user counts for, in addition to itself. */
const ACTED_USES = 2;

/**
 * Ranks terms by frequency, by use in calls and by the user, and by lateness, for their tokens. On recorded sessions this
 * order shows 0.06 to 0.12 more of the terms needed later than acted-on terms first and then frequency. Of this, the root
 * and the lateness add 0.03 to 0.08 each.
 */
function rankedTerms(
  { messages: before, terms }: Pick<GapRecord, "messages" | "terms">,
  messages: readonly SourceMessage[],
): Pick<GapRecord, "messages" | "terms"> {
  const known = new Map(terms.map((each) => [each.term, { ...each }]));
  messages.forEach(({ message }, place) => {
    const acted = actedTerms(message);
    for (const term of messageTerms(message)) {
      const use = known.get(term) ?? { term, uses: 0, at: 0 };
      if (use.uses === 0) known.set(term, use);
      use.uses += acted.has(term) ? 1 + ACTED_USES : 1;
      use.at = before + place;
    }
  });
  const count = before + messages.length;
  const score = ({ term, uses, at }: GapTerm) =>
    (Math.sqrt(uses) * (1 + at / count)) / (BASE_TOKENS + estimateTokens(term));
  const scored = Array.from(known.values(), (term) => ({ term, score: score(term) }));
  const ranked = scored
    .filter(({ term: { term } }) => !isMeasure(term))
    .sort((a, b) => b.score - a.score || (a.term.term < b.term.term ? -1 : 1));
  return { messages: count, terms: ranked.slice(0, MAX_TERMS).map(({ term }) => term) };
}

/** The terms of the user's words and of short arguments. */
function actedTerms(message: Message): Set<string> {
  if (message?.role === "user" && isUserMessage(message)) return termsIn(typedText(message));
  const given = callsIn(message).flatMap((call) => textsIn(call.arguments));
  return termsIn(given.filter((text) => text.length <= MAX_ARGUMENT_CHARS).join("\n"));
}

export interface GapTextOptions {
  maxTokens: number;
  /** Maximum size of the text in the unit of `sizeOf`. Default: no limit. */
  maxSize?: number;
  sizeOf?: (text: string) => number;
  /** The last paragraph: how to find the rest. */
  ending: string;
}

export interface GapText {
  /** Empty if nothing is lost. */
  text: string;
  tokens: number;
  /** The facts in the text. */
  counts: Record<keyof LostFacts, number>;
}

const INTRODUCTION =
  "Bonsai: facts from the conversation before the compaction. The summary may leave them out. They are a record of the past, not a request.";
const HEADINGS = {
  irreversible: "Actions that cannot be undone:",
  failing: "Commands that failed in their last run:",
  said: "The user's own words, oldest first:",
  terms: "Exact names and values from the conversation:",
};
/** Shares of the free tokens. Actions and failures are few, and the terms get the rest. */
const SHARES = { outcomes: 0.7, said: 0.2 };
const MAX_SAID_CHARS = 600;

/** Composes a text for the gap that a compaction leaves: actions and failures, the user's words, then terms. */
export function gapText(lost: LostFacts, options: GapTextOptions): GapText {
  const { maxSize = Number.POSITIVE_INFINITY, sizeOf = (text) => text.length } = options;
  let { maxTokens } = options;
  for (;;) {
    const made = composedText(lost, maxTokens, options.ending);
    const over = Math.max(made.tokens / options.maxTokens, sizeOf(made.text) / maxSize);
    if (over <= 1) return made;
    // Some headings and long facts only fit into a smaller budget.
    maxTokens = Math.min(maxTokens - 1, Math.floor(made.tokens / over));
  }
}

function composedText(lost: LostFacts, maxTokens: number, ending: string): GapText {
  let left = maxTokens - estimateTokens(paragraphs([INTRODUCTION, ...Object.values(HEADINGS), ending]));
  const spend = (lines: readonly string[]) => {
    left -= linesTokens(lines);
    return lines;
  };
  const failing = spend(outcomeLines(lost.failing, left * SHARES.outcomes));
  const irreversible = spend(outcomeLines(lost.irreversible, left * SHARES.outcomes));
  const said = spend(saidLines(lost.said, left * SHARES.said));
  const parts: Record<string, readonly string[]> = { irreversible, failing, said };
  const terms = fittingTerms(lost.terms, left, Object.values(parts).flat().join("\n"));
  const blocks = Object.entries({ ...parts, terms: terms.length === 0 ? [] : [terms.join(", ")] })
    .filter(([, lines]) => lines.length > 0)
    .map(([part, lines]) => [HEADINGS[part as keyof LostFacts], ...lines].join("\n"));
  const text = blocks.length === 0 ? "" : paragraphs([INTRODUCTION, ...blocks, ending]);
  const [acts, failures] = [irreversible.length, failing.length];
  const counts = { irreversible: acts, failing: failures, said: said.length, terms: terms.length };
  return { text, tokens: estimateTokens(text), counts };
}

function saidLines(said: readonly SaidMessage[], maxTokens: number): string[] {
  const { said: kept } = clippedWords({ said: [...said], leftOut: 0 }, { maxTokens });
  return kept.map(({ text, answers }) => {
    const question = answers === undefined ? "" : `(asked: ${clippedLine(answers, MAX_SAID_CHARS)}) `;
    return `- ${question}${clippedLine(text, MAX_SAID_CHARS)}`;
  });
}

/** A shorter term than this has no room left. */
const MIN_TERM_TOKENS = 4;

/** The first terms that fit, without those that `beside` or a chosen term contains. */
function fittingTerms(terms: readonly string[], maxTokens: number, beside: string): string[] {
  const chosen: string[] = [];
  let text = beside;
  let left = maxTokens;
  for (const term of terms) {
    if (left < MIN_TERM_TOKENS) break;
    const tokens = estimateTokens(`, ${term}`);
    if (tokens > left || text.includes(term)) continue;
    left -= tokens;
    chosen.push(term);
    text += `\n${term}`;
  }
  return chosen;
}

/** Maximum characters of the request in the instructions. */
const MAX_REQUEST_CHARS = 600;

/** Instructions for the summary of another agent: the facts that it must contain. Empty if there are none. */
export function summaryInstructions({ words, outcomes }: GapRecord, maxTokens: number): string {
  const request = words.said.at(-1);
  const asked = request === undefined ? [] : [`- ${clippedLine(request.text, MAX_REQUEST_CHARS)}`];
  let left =
    maxTokens - estimateTokens(paragraphs([INSTRUCTION, REQUEST, ...asked, ...Object.values(HEADINGS)]));
  const failing = outcomeLines(outcomes.failing, left);
  left -= linesTokens(failing);
  const irreversible = outcomeLines(outcomes.irreversible, left);
  const parts = [
    { heading: REQUEST, lines: asked },
    { heading: HEADINGS.failing, lines: failing },
    { heading: HEADINGS.irreversible, lines: irreversible },
  ].filter(({ lines }) => lines.length > 0);
  if (parts.length === 0) return "";
  return paragraphs([INSTRUCTION, ...parts.map(({ heading, lines }) => [heading, ...lines].join("\n"))]);
}

const INSTRUCTION = "State these facts in the summary, with their exact names and values:";
const REQUEST = "The user's latest request:";

/** Describes lost facts in one line: `2 irreversible commands, 5 user messages and 40 terms`. Undefined without any. */
export function lostCounts({
  irreversible,
  failing,
  said,
  terms,
}: Record<keyof LostFacts, number>): string | undefined {
  const parts = [
    [irreversible, "irreversible command"],
    [failing, "failing command"],
    [said, "user message"],
    [terms, "term"],
  ] as const;
  const named = parts.filter(([number]) => number > 0).map(([number, noun]) => counted(number, noun));
  return named.length === 0 ? undefined : named.join(", ");
}
