import { textPart } from "@bonsai-agent/messages/host";
import type { Entry } from "../entry.ts";
import type { EntryMatch, QueryMatcher, TextRange } from "./query.ts";
import type { EntryFacts } from "./source.ts";

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

/** The facts that decide about a rank. */
export interface Rankable {
  file: string;
  offset: number;
  timeMs: number;
  /** Length of the entry's texts. */
  characters: number;
  /** By number of the term: its occurrences, or 1 for a term that an unread entry probably has. */
  counts: readonly number[];
}

/** A hit with the facts that decide about its rank. */
export type ScoredHit = SessionHit & Rankable;

/** An entry as a hit. */
export function matchedEntry(
  { texts: _texts, ...facts }: EntryFacts,
  { match, file, offset }: { match: EntryMatch; file: string; offset: number },
): ScoredHit {
  const { counts, characters } = match;
  // A copy: a part of a string keeps all of it in memory.
  const snippet = Buffer.from(snippetOf(match.text, match)).toString();
  return { file, ...facts, snippet, offset, counts, characters };
}

const SNIPPET_CHARACTERS = 60;

/** A part of a text with some text around it, on one line. */
function snippetOf(text: string, { start, end }: TextRange): string {
  const from = Math.max(0, start - SNIPPET_CHARACTERS);
  const to = Math.min(text.length, Math.min(end, start + 2 * SNIPPET_CHARACTERS) + SNIPPET_CHARACTERS);
  const line = textPart(text, from, to).replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${to < text.length ? "…" : ""}`;
}

/** The public part of a hit. */
export function publicHit({
  offset: _offset,
  counts: _counts,
  characters: _characters,
  ...hit
}: ScoredHit): SessionHit {
  return hit;
}

/** Number of hits ranked by their text for each requested hit. */
export const RANKED_PER_HIT = 2;
const MIN_RANKED = 100;

/** How soon a term that comes again counts little more. */
const SATURATION = 1.2;
/** How much a long text counts less, from 0 to 1. */
const LENGTH_WEIGHT = 0.75;
/** An entry of this length is neither long nor short. Fixed, so that the index and the scan rank alike. */
const USUAL_CHARACTERS = 1000;

/**
 * Reads the items that are worth it, best first: by their terms, length and time, without their text. The index and the
 * scan rank alike, so the hits do not depend on who found them.
 * @param read returns the item as a hit, or undefined if it is none
 * @returns the hits in that order; `isCut` if items were left unread
 */
export async function readBest<Item extends Rankable, Hit extends Rankable>(
  items: readonly Item[],
  {
    matcher,
    limit,
    perSession,
    read,
  }: {
    matcher: QueryMatcher;
    limit: number;
    perSession: number;
    read: (item: Item) => Hit | undefined | Promise<Hit | undefined>;
  },
): Promise<{ hits: Hit[]; isCut: boolean }> {
  const enough = Math.max(RANKED_PER_HIT * limit, MIN_RANKED);
  const perFile = new Map<string, number>();
  const hits: Hit[] = [];
  for (const item of bestFirst(items, matcher, 1)) {
    if (hits.length >= enough) return { hits, isCut: true };
    const count = perFile.get(item.file) ?? 0;
    if (count >= RANKED_PER_HIT * perSession) continue;
    const hit = await read(item);
    if (hit === undefined) continue;
    perFile.set(item.file, count + 1);
    hits.push(hit);
  }
  return { hits, isCut: false };
}

/** Best first. @param maxCount occurrences of a term that count. Default: all */
export function bestFirst<Item extends Rankable>(
  items: readonly Item[],
  matcher: QueryMatcher,
  maxCount = Number.POSITIVE_INFINITY,
): Item[] {
  const weights = termWeights(items, matcher);
  const scored = items.map((item) => ({ item, score: fitness(item, { weights, maxCount }) }));
  // No two are equal: the index and the scan would order equals differently.
  scored.sort(
    ({ item: a, score: scoreA }, { item: b, score: scoreB }) =>
      scoreB - scoreA || b.timeMs - a.timeMs || compareText(a.file, b.file) || b.offset - a.offset,
  );
  return scored.map(({ item }) => item);
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The weight of each term: the rarer, the more. All weigh the same if an entry must have all of them. */
function termWeights(items: readonly Rankable[], { terms, match }: QueryMatcher): number[] {
  const among = terms.map(() => 0);
  if (match === "any")
    for (const { counts } of items)
      for (const [term, count] of counts.entries()) among[term]! += count > 0 ? 1 : 0;
  return among.map((count) => 1 / Math.log2(2 + count) ** 2);
}

/** BM25: how well an entry fits, by the occurrences of each term, its weight, and the entry's length. */
function fitness(
  { counts, characters }: Rankable,
  { weights, maxCount }: { weights: readonly number[]; maxCount: number },
): number {
  const length = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * lengthClass(characters)) / USUAL_CHARACTERS;
  return counts.reduce((sum, occurrences, term) => {
    const count = Math.min(occurrences, maxCount);
    return sum + ((weights[term] ?? 1) * count * (SATURATION + 1)) / (count + SATURATION * length);
  }, 0);
}

/** Lengths that count as the same. */
function lengthClass(characters: number): number {
  return USUAL_CHARACTERS * 2 ** Math.max(0, Math.ceil(Math.log2(characters / USUAL_CHARACTERS)));
}

/** Leaves out repeated entries: after a crash, a writer may have written a line twice. */
export function distinct<Hit extends SessionHit>(hits: readonly Hit[]): Hit[] {
  const keyOf = ({ file, entryId, type, snippet }: Hit) => `${file}\0${entryId}\0${type}\0${snippet}`;
  return [...new Map(hits.map((hit) => [keyOf(hit), hit])).values()];
}

/** Leaves out hits above the maximum of their session. */
export function firstOfEachFile<Hit extends SessionHit>(hits: readonly Hit[], perSession: number): Hit[] {
  const counts = new Map<string, number>();
  return hits.filter(({ file }) => {
    const count = (counts.get(file) ?? 0) + 1;
    counts.set(file, count);
    return count <= perSession;
  });
}
