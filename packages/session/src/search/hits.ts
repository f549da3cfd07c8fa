import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { SecretFilter } from "@bonsai-agent/messages";
import { textPart } from "@bonsai-agent/messages/host";
import type { Entry } from "../entry.ts";
import { type CaughtUp, isFileError } from "./index-writer.ts";
import { bestLines, type PatternQuery, type Query, type ShownTerm, type TextRange } from "./query.ts";
import { rankEntries } from "./ranking.ts";
import { fileOf, type SearchIndex } from "./search-index.ts";
import { type EntryFacts, FILE_START, type SourceFile } from "./source.ts";
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

export interface HitOptions {
  /** Maximum number of hits. Default: 50. */
  limit?: number;
  /** Maximum number of hits in each session. With it, an entry is a hit in each of its forks. Default: no limit. */
  perSession?: number;
  /** Only these entries are hits. Default: all. */
  entryIds?: ReadonlySet<string>;
  /** Redacts the shown texts. Default: a filter that knows no keys. */
  secrets?: SecretFilter | undefined;
}

export interface Hits {
  /** Best first. For a pattern, in file order. */
  hits: SessionHit[];
  /** True if the limit removed hits. */
  more: boolean;
  /** The found words, for the choice of lines to show. */
  terms: readonly ShownTerm[];
}

const DEFAULT_LIMIT = 50;
/** A list of sessions is not sorted by rank, so weak hits would be between good ones. */
const MIN_SHARE_PER_SESSION = 0.4;

/** Reads the best entries until there are enough hits. An entry in several forks is one hit. */
export function rankedHits(
  index: SearchIndex,
  { query, searchable }: { query: Query; searchable: CaughtUp["searchable"] },
  { limit = DEFAULT_LIMIT, perSession, entryIds, secrets }: HitOptions,
): Hits {
  const sources = new Map(searchable.map(({ row, source }) => [row.id, source]));
  const { entries, terms } = rankEntries(
    query,
    index,
    searchable.map(({ row }) => row),
  );
  let minScore: number | undefined;
  const hits: SessionHit[] = [];
  const seen = new Set<string>();
  const counts = new Map<SourceFile, number>();
  for (const { entry, score } of entries) {
    minScore ??= perSession === undefined ? 0 : MIN_SHARE_PER_SESSION * score;
    if (hits.length > limit || score < minScore) break;
    const [source, place] = [sources.get(fileOf(entry))!, index.entry(entry)];
    if (place === undefined || entryIds?.has(place.entryId) === false) continue;
    const { entryId, timeMs, lengthBytes } = place;
    const count = counts.get(source) ?? 0;
    const key = [entryId, timeMs, perSession === undefined ? lengthBytes : source.file].join(" ");
    if (seen.has(key) || count === perSession) continue;
    const facts = source.entryAt(place, secrets);
    if (facts === undefined || !containsPhrases(facts.texts, query.phrases)) continue;
    seen.add(key);
    counts.set(source, count + 1);
    hits.push(hitOf(facts, source.file, bestPlace(facts.texts, terms)));
  }
  return { hits: hits.slice(0, limit), more: hits.length > limit, terms };
}

/** Reads all files for the first hits of a pattern, in file order. @throws the signal's reason */
export async function patternHits(
  { findTexts }: PatternQuery,
  sources: readonly SourceFile[],
  { limit = DEFAULT_LIMIT, secrets, signal }: HitOptions & { signal?: AbortSignal | undefined },
): Promise<Hits & { unread: string[] }> {
  const hits: SessionHit[] = [];
  const unread: string[] = [];
  for (const source of sources) {
    try {
      for (const { entries } of source.slices({ from: FILE_START, until: source.size() }, secrets)) {
        signal?.throwIfAborted();
        const found = await findTexts(entries.flatMap(({ texts }) => texts));
        let next = 0;
        for (const entry of entries) {
          const first = next;
          next += entry.texts.length;
          const text = entry.texts.findIndex((_, at) => found.has(first + at));
          if (text >= 0) hits.push(hitOf(entry, source.file, { text, ...found.get(first + text)! }));
        }
        if (hits.length > limit) return { hits: hits.slice(0, limit), more: true, terms: [], unread };
        await yieldToEventLoop();
      }
    } catch (error) {
      if (signal?.aborted || !isFileError(error)) throw error;
      unread.push(source.file);
    } finally {
      source.close();
    }
  }
  return { hits, more: false, terms: [], unread };
}

/** An entry as a hit. @param match the range to show, and the number of its text */
function hitOf(facts: EntryFacts, file: string, match: TextRange & { text: number }): SessionHit {
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
function bestPlace(texts: readonly string[], terms: readonly ShownTerm[]): TextRange & { text: number } {
  let [line = 0] = bestLines(texts.join("\n"), terms, 1);
  for (const [text, whole] of texts.entries()) {
    const lines = whole.split("\n");
    if (line < lines.length) {
      const before = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0);
      const { start, end } = termPlace(lines[line]!, terms);
      return { text, start: before + start, end: before + end };
    }
    line -= lines.length;
  }
  return { text: 0, start: 0, end: 0 };
}

/** The first position of the rarest term in a line, if folding keeps the positions of characters. */
export function termPlace(line: string, terms: readonly ShownTerm[]): TextRange {
  const folded = foldedText(line);
  const found = terms.filter(({ text }) => folded.includes(text));
  const rarest = found.reduce((best, term) => (term.weight > best.weight ? term : best), {
    text: "",
    weight: 0,
  });
  const start = folded.indexOf(rarest.text);
  return { start, end: start + rarest.text.length };
}

/** True if one of the texts contains each phrase. @param phrases folded */
function containsPhrases(texts: readonly string[], phrases: readonly string[]): boolean {
  if (phrases.length === 0) return true;
  const folded = texts.map((text) => foldedText(text).replaceAll(/\s+/g, " "));
  return phrases.every((phrase) => folded.some((text) => text.includes(phrase)));
}
