import { gist } from "./gist.ts";
import { stopwords } from "./language.ts";
import type { Statement } from "./statement.ts";
import type { ToolUse } from "./tool-use.ts";
import { type Value, type ValueType, valueKey, valuesOf } from "./values.ts";

/** An identifier, path or value that the session keeps coming back to, with the line that says most about it. */
export interface Term {
  key: string;
  text: string;
  type: ValueType;
  score: number;
  context?: string;
}

interface Tally {
  value: Value;
  /** Turns in which it came up, by who brought it: user 3, assistant 1, a call 1, output 0.5; the best counts per turn. */
  turns: Map<number, number>;
  first: number;
  last: number;
  outputLine?: string;
  /** Somebody named it or a call was given it; what only outputs show may be log. */
  named: boolean;
}

const TYPE_BONUS: Record<ValueType, number> = {
  url: 1.5,
  colour: 1.2,
  hash: 1.3,
  version: 1.1,
  number: 0.8,
  flag: 0.9,
  identifier: 1,
  code: 1,
  quote: 0.7,
  name: 0.6,
  path: 0.7,
};

/**
 * Ranks values by how many turns come back to them, weighted by who does, like a tf x idf: what comes up in nearly every
 * turn (the project's own name) tells nothing apart and is damped; what came up lately counts more. The spread over
 * turns stands for tf, so that one output that repeats a word a thousand times weighs no more than one that says it once.
 */
export function termsOf(input: {
  statements: readonly Statement[];
  uses: readonly ToolUse[];
  turnCount: number;
}): Term[] {
  const tallies = new Map<string, Tally>();
  for (const statement of input.statements)
    for (const value of statement.values)
      tally(tallies, value, statement.turn, statement.speaker === "user" ? 3 : 1);
  for (const use of input.uses) tallyUse(tallies, use);
  return [...tallies.values()]
    .filter(isTelling)
    .map((entry) => toTerm(entry, Math.max(1, input.turnCount)))
    .filter((term) => term.score > 1)
    .sort((a, b) => b.score - a.score || (a.key < b.key ? -1 : 1));
}

function tallyUse(tallies: Map<string, Tally>, use: ToolUse): void {
  for (const path of use.paths)
    tally(tallies, { type: "path", text: path, key: valueKey(path) }, use.call.turn, 1);
  if (use.command !== undefined)
    for (const value of valuesOf(use.command.key, "en")) tally(tallies, value, use.call.turn, 1);
  tallyOutput(tallies, use, use.kind === "read" || use.command?.family === "look" ? 1_200 : 2_000);
}

const OUTPUT_VALUE =
  /[a-z][a-z0-9+.-]{1,12}:\/\/[^\s"'<>`)]+|(?<![\w.])[\w.-]+:\d{2,5}(?!\w)|\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b|\b[A-Z][A-Z0-9]{1,9}-\d{2,7}\b|\b[0-9a-f]{7,40}\b/g;

/** Outputs are searched for the shapes that mean something out of context: addresses, settings, tickets, hashes. */
function tallyOutput(tallies: Map<string, Tally>, use: ToolUse, limit: number): void {
  const text = use.call.output.slice(0, limit);
  for (const match of text.matchAll(OUTPUT_VALUE)) {
    const written = match[0];
    if (
      /^\d+$/.test(written) ||
      /^[\dT.-]+:\d+$/.test(written) ||
      /^[a-f]+$/.test(written) ||
      /^(?:file|node|https?):\d+$/.test(written)
    )
      continue;
    const type: ValueType = written.includes(":")
      ? "url"
      : /^[0-9a-f]+$/.test(written)
        ? "hash"
        : "identifier";
    const entry = tally(tallies, { type, text: written, key: valueKey(written) }, use.call.turn, 0.5);
    entry.outputLine ??= lineAt(text, match.index);
  }
}

function lineAt(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at) + 1;
  const end = text.indexOf("\n", at);
  return text.slice(start, end === -1 ? undefined : end).trim();
}

function tally(tallies: Map<string, Tally>, value: Value, turn: number, worth: number): Tally {
  let entry = tallies.get(value.key);
  if (entry === undefined) {
    entry = { value, turns: new Map(), first: turn, last: turn, named: false };
    tallies.set(value.key, entry);
  }
  entry.turns.set(turn, Math.max(entry.turns.get(turn) ?? 0, worth));
  entry.named ||= worth >= 1;
  entry.last = Math.max(entry.last, turn);
  return entry;
}

function isTelling({ value, turns, named }: Tally): boolean {
  if (!named) return false;
  if (value.key.length < 2 || value.text.length > 120 || turns.size < 2) return false;
  if (value.type === "number") return value.key.replace(/\D/g, "").length >= 3 || /[a-z%]/.test(value.key);
  if (value.type === "name" || value.type === "quote")
    return value.key.length > 3 && !stopwords("en").has(value.key);
  return true;
}

function toTerm(entry: Tally, turnCount: number): Term {
  const spread = [...entry.turns.values()].reduce((sum, worth) => sum + worth, 0);
  const commonness = entry.turns.size / turnCount;
  const damp = turnCount > 8 && commonness > 0.4 ? 0.4 / commonness : 1;
  const recency = 0.6 + 0.4 * (entry.last / turnCount);
  const context = entry.outputLine;
  return {
    key: entry.value.key,
    text: entry.value.text,
    type: entry.value.type,
    score: Math.log2(1 + spread) * TYPE_BONUS[entry.value.type] * recency * damp,
    ...(context !== undefined && { context: gist(context, 160) }),
  };
}
