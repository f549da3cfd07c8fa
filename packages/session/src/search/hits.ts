import { textPart } from "@bonsai-agent/messages/host";
import type { Entry } from "../entry.ts";
import { bestLines, type ShownTerm, type TextRange } from "./query.ts";
import type { EntryFacts } from "./source.ts";
import { foldedText } from "./words.ts";

/** An entry that was found in a session. */
export interface SessionHit {
  /** Absolute path of the session; empty for a session without a file. */
  file: string;
  entryId: string;
  type: Entry["type"];
  /** Only for a message. */
  role?: string;
  /** Milliseconds since the epoch; 0 if the entry has no valid time. */
  timeMs: number;
  /** A match with some text around it, on one line. */
  snippet: string;
}

/** An entry as a hit. @param match the range to show, and the number of its text */
export function hitOf(facts: EntryFacts, file: string, match: TextRange & { text: number }): SessionHit {
  const { entryId, type, role, timeMs, texts } = facts;
  // A copy: a part of a string keeps all of it in memory.
  const snippet = Buffer.from(snippetOf(texts[match.text] ?? "", match)).toString();
  return { file, entryId, type, ...(role !== undefined && { role }), timeMs, snippet };
}

const SNIPPET_CHARACTERS = 60;

/** A part of a text with some text around it, on one line. */
function snippetOf(text: string, { start, end }: TextRange): string {
  const from = Math.max(0, start - SNIPPET_CHARACTERS);
  const to = Math.min(text.length, Math.min(end, start + 2 * SNIPPET_CHARACTERS) + SNIPPET_CHARACTERS);
  const line = textPart(text, from, to).replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${to < text.length ? "…" : ""}`;
}

/** The first match in the best line, where a snippet begins. */
export function bestPlace(
  texts: readonly string[],
  terms: readonly ShownTerm[],
): TextRange & { text: number } {
  let [line = 0] = bestLines(texts.join("\n"), terms, 1);
  for (const [text, whole] of texts.entries()) {
    const lines = whole.split("\n");
    if (line < lines.length) {
      const start = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0);
      return { text, ...termPlace(lines[line]!, terms, start) };
    }
    line -= lines.length;
  }
  return { text: 0, start: 0, end: 0 };
}

/** The first position of the rarest term in a line, if folding keeps the positions of characters. */
function termPlace(line: string, terms: readonly ShownTerm[], start: number): TextRange {
  const folded = foldedText(line);
  const found = terms.filter(({ text }) => folded.includes(text)).sort((a, b) => b.weight - a.weight);
  const at = start + (found[0] === undefined ? 0 : folded.indexOf(found[0].text));
  return { start: at, end: at + (found[0]?.text.length ?? 0) };
}

/** True if one of the texts contains each phrase. @param phrases folded */
export function containsPhrases(texts: readonly string[], phrases: readonly string[]): boolean {
  if (phrases.length === 0) return true;
  const folded = texts.map((text) => foldedText(text).replaceAll(/\s+/g, " "));
  return phrases.every((phrase) => folded.some((text) => text.includes(phrase)));
}
