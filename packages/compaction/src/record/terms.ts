import { callsIn, contentText, estimateTokens, textHead } from "@bonsai-agent/messages";
import { RECALL_TOOL, recalledIds } from "@bonsai-agent/messages/host";
import type { TermIndex, TermUse } from "../details.ts";
import { isMeasure, isNumber, termsIn, textsIn } from "./sentence.ts";
import { ranCommand, type SourceMessage, summaryProse, typedText } from "./statements.ts";

const SPEAKER_WEIGHT = { user: 3, assistant: 2, result: 1 };
/** Only the head of a result is read: later terms are seldom named again. */
const RESULT_CHARS = 4_000;
const MAX_TERMS = 500;
const MAX_ENTRIES = 2;
/** Factor for uses at the beginning of the session; uses at the end count 1 more. */
const MIN_PLACE = 0.3;

/** Extends the index with more messages. */
export function termsAfter(earlier: TermIndex, messages: readonly SourceMessage[]): TermIndex {
  const uses = new Map<string, TermUse>();
  for (let at = messages.length - 1; at >= 0; at--) {
    const { message, entryId } = messages[at]!;
    const entries = entryId === undefined ? [] : [entryId];
    for (const [term, weight] of weightedTerms(message))
      addUse(uses, { term, weight, placed: weight * (earlier.messages + at + 1), entries });
  }
  return ranked(uses, earlier, messages.length);
}

/** Joins the index of a branch, as later messages, into another index. */
export function joinedTerms(index: TermIndex, branch: TermIndex): TermIndex {
  const uses = new Map<string, TermUse>();
  for (const use of branch.uses) addUse(uses, { ...use, placed: use.placed + use.weight * index.messages });
  return ranked(uses, index, branch.messages);
}

/** Adds an earlier use, so that the latest entries stay. */
function addUse(uses: Map<string, TermUse>, { term, weight, placed, entries }: TermUse): void {
  let use = uses.get(term);
  if (use === undefined) {
    use = { term, weight: 0, placed: 0, entries: [] };
    uses.set(term, use);
  }
  use.weight += weight;
  use.placed += placed;
  for (const entry of entries)
    if (use.entries.length < MAX_ENTRIES && !use.entries.includes(entry)) use.entries.push(entry);
}

/** The index of these uses, in `added` messages, and of an earlier index. */
function ranked(uses: Map<string, TermUse>, earlier: TermIndex, added: number): TermIndex {
  for (const use of earlier.uses) addUse(uses, use);
  const messages = earlier.messages + added;
  const score = ({ weight, placed }: TermUse) => MIN_PLACE * weight + placed / Math.max(1, messages);
  const scored = Array.from(uses.values(), (use) => ({ use, score: score(use) }));
  scored.sort((a, b) => b.score - a.score || (a.use.term < b.use.term ? -1 : 1));
  return { messages, uses: scored.slice(0, MAX_TERMS).map(({ use }) => use) };
}

function weightedTerms(message: SourceMessage["message"]): Map<string, number> {
  const found = new Map<string, number>();
  const add = (text: string, weight: number, isOutput = false) => {
    for (const term of termsIn(text)) if (!isOutput || !isNumber(term)) found.set(term, weight);
  };
  switch (message?.role) {
    case "user":
      add(textHead(contentText(message.content), RESULT_CHARS), SPEAKER_WEIGHT.result, true);
      add(typedText(message), SPEAKER_WEIGHT.user);
      break;
    case "custom":
      add(textHead(contentText(message.content), RESULT_CHARS), SPEAKER_WEIGHT.result);
      break;
    case "assistant":
      add(contentText(message.content), SPEAKER_WEIGHT.assistant);
      // A recall call only repeats earlier terms.
      for (const call of callsIn(message).filter(({ name }) => name !== RECALL_TOOL))
        for (const text of textsIn(call.arguments)) add(text, SPEAKER_WEIGHT.assistant);
      break;
    case "toolResult":
      if (recalledIds(message) !== undefined) break;
      add(textHead(contentText(message.content), RESULT_CHARS), SPEAKER_WEIGHT.result, true);
      break;
    case "bashExecution": {
      const { command, output } = ranCommand(message);
      add(textHead(output, RESULT_CHARS), SPEAKER_WEIGHT.result, true);
      add(command, SPEAKER_WEIGHT.user);
      break;
    }
    case "branchSummary":
    case "compactionSummary":
      add(summaryProse(message), SPEAKER_WEIGHT.assistant);
      break;
    default:
  }
  return found;
}

/** A shown term, and an entry that contains it. */
interface ShownTerm {
  term: string;
  entryId: string | undefined;
}

/**
 * The most used terms that fit, each once, grouped by entry.
 * @param isShown true for a term that the context shows anyway
 * @returns an introduction and lines such as `[a1b2c3d4] src/a.ts, parseHeader`; empty if no term fits
 */
export function termLines(index: TermIndex, maxTokens: number, isShown: (term: string) => boolean): string[] {
  const chosen: ShownTerm[] = [];
  const entries = new Set<string | undefined>();
  let tokens = estimateTokens(INTRODUCTION);
  for (const { term, entries: candidates } of index.uses) {
    if (isMeasure(term)) continue;
    if (isShown(term) || chosen.some((other) => other.term.includes(term))) continue;
    const entryId = candidates.find((each) => entries.has(each)) ?? candidates[0];
    const size = estimateTokens(`, ${term}`) + (entries.has(entryId) ? 0 : estimateTokens(`\n[${entryId}] `));
    if (tokens + size > maxTokens) {
      if (tokens + MINIMUM_TERM_TOKENS > maxTokens) break;
      continue;
    }
    tokens += size;
    entries.add(entryId);
    chosen.push({ term, entryId });
  }
  return chosen.length === 0 ? [] : [INTRODUCTION, ...linesByEntry(chosen)];
}

const INTRODUCTION =
  "Exact terms from the conversation that appear nowhere else here, each with an entry that contains it:";
const MINIMUM_TERM_TOKENS = 4;

function linesByEntry(chosen: readonly ShownTerm[]): string[] {
  const byEntry = new Map<string | undefined, string[]>();
  for (const { term, entryId } of chosen) byEntry.set(entryId, [...(byEntry.get(entryId) ?? []), term]);
  return [...byEntry].map(([id, terms]) => `${id === undefined ? "" : `[${id}] `}${terms.join(", ")}`);
}
