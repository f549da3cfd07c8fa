import { parseBytes } from "../read/entry-head.ts";
import { readBytes } from "../store/line-reader.ts";
import { entryFacts, parsedEntry } from "./entry-lines.ts";
import { distinct, type Found, foundIn } from "./hit.ts";
import { turn } from "./index-writer.ts";
import type { Candidate } from "./search-index.ts";
import type { TermMatcher } from "./search-query.ts";
import type { SessionSource } from "./session-source.ts";

/** Number of hits ranked by their text for each requested hit. */
export const RANKED_PER_HIT = 2;
const MIN_RANKED = 100;
const READ_AT_ONCE = 50;

/** How soon a term that comes again counts little more. */
const SATURATION = 1.2;
/** How much a long text counts less, from 0 to 1. */
const LENGTH_WEIGHT = 0.75;
/** An entry of this length is neither long nor short. Fixed, so that the index and the scan rank alike. */
const USUAL_CHARACTERS = 1000;

/** A hit, or what may be one, with what is known of it before its text is read. */
interface Ranked {
  score: number;
  timeMs: number;
  file: string;
  offset: number;
  hit?: Found;
  candidate?: Candidate;
}

/**
 * The best hits, of those that were found in files and those that the index proposes. By which terms they have and
 * whether they are long it is decided which are read, the newest first among equals; by their text how those are ranked. Both
 * count the same for the index and the scan, so that it makes no difference who found a hit.
 */
export async function bestHits(
  matcher: TermMatcher,
  {
    found,
    candidates,
    sources,
    limit,
    perSession,
    signal,
    onFound = () => {},
  }: {
    found: readonly Found[];
    candidates: readonly Candidate[];
    /** By the number that candidates have of their file. */
    sources: ReadonlyMap<number, SessionSource>;
    limit: number;
    perSession: number;
    signal: AbortSignal | undefined;
    /** Called with some hits at a time. */
    onFound?: (hits: readonly Found[]) => void;
  },
): Promise<{ hits: Found[]; isCut: boolean }> {
  const items = firstRanking(matcher, { found, candidates, sources });
  const enough = Math.max(RANKED_PER_HIT * limit, MIN_RANKED);
  const bySession = new BySession(RANKED_PER_HIT * perSession);
  const hits: Found[] = [];
  let [read, reported, isCut] = [0, 0, false];
  const report = () => {
    onFound(hits.slice(reported));
    reported = hits.length;
  };
  for (const { hit: known, candidate, file } of items) {
    isCut = hits.length >= enough;
    if (isCut) break;
    if (bySession.isFull(file)) continue;
    const hit = known ?? readCandidate(candidate!, { matcher, source: sources.get(candidate!.file)! });
    if (hit !== undefined && bySession.take(hit.file)) hits.push(hit);
    if (candidate === undefined || ++read % READ_AT_ONCE > 0) continue;
    for (const open of sources.values()) open.close();
    report();
    await turn();
    signal?.throwIfAborted();
  }
  report();
  return { hits, isCut };
}

/** Reads a candidate in its session; undefined for what is no hit, or not there any more. */
export function readCandidate(
  { entryId, offset, lengthBytes }: Candidate,
  { matcher, source }: { matcher: TermMatcher; source: SessionSource },
): Found | undefined {
  try {
    const value = parseBytes(readBytes(source, { offset, lengthBytes }));
    const entry = parsedEntry(value, entryId, source.version());
    return (
      entry &&
      foundIn(entryFacts(entry, matcher.showSecrets), { matcher, file: source.file, entryId, offset })
    );
  } catch {
    // The session file is gone, or the index has a wrong place for the entry.
    return undefined;
  }
}

function firstRanking(
  matcher: TermMatcher,
  {
    found,
    candidates,
    sources,
  }: {
    found: readonly Found[];
    candidates: readonly Candidate[];
    sources: ReadonlyMap<number, SessionSource>;
  },
): Ranked[] {
  const has = (terms: readonly number[]) =>
    matcher.terms.map((_, term) => (matcher.match === "all" || terms.includes(term) ? 1 : 0));
  const known = [
    ...found.map((hit) => ({
      ...{ hit, file: hit.file, counts: hit.counts.map((count) => Math.min(1, count)) },
      ...placeOf(hit),
    })),
    ...candidates.map((candidate) => ({
      ...{ candidate, file: sources.get(candidate.file)!.file, counts: has(candidate.terms) },
      ...placeOf(candidate),
    })),
  ];
  const weights = weightsOf(matcher, known);
  const items = known.map(({ counts, characters, ...item }) => ({
    ...item,
    score: fitness({ counts, characters, weights }),
  }));
  return items.sort(byScore);
}

function placeOf({ timeMs, offset, characters }: Found | Candidate) {
  return { timeMs, offset, characters };
}

/** No two are equal: what an order leaves open, the index and the scan would fill in differently. */
function byScore(a: Ranked, b: Ranked): number {
  return b.score - a.score || b.timeMs - a.timeMs || inOrder(a.file, b.file) || b.offset - a.offset;
}

export function inOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Best first, so many of each session as are asked for. */
export function ranked(
  matcher: TermMatcher,
  { hits, perSession }: { hits: readonly Found[]; perSession: number },
): Found[] {
  const weights = weightsOf(matcher, hits);
  const items = hits.map((hit) => ({
    ...{ hit, file: hit.file, score: fitness({ ...hit, weights }) },
    ...placeOf(hit),
  }));
  const bySession = new BySession(perSession);
  return distinct(items.sort(byScore).map(({ hit }) => hit)).filter(({ file }) => bySession.take(file));
}

/** Counts the hits of each session. */
class BySession {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  isFull(file: string): boolean {
    return (this.#counts.get(file) ?? 0) >= this.#most;
  }

  /** @returns false where there are enough of them */
  take(file: string): boolean {
    if (this.isFull(file)) return false;
    this.#counts.set(file, (this.#counts.get(file) ?? 0) + 1);
    return true;
  }
}

/** How much each term weighs: the fewer entries have it, the more. Where an entry must have them all, they weigh the same. */
function weightsOf({ terms, match }: TermMatcher, hits: readonly { counts: readonly number[] }[]): number[] {
  if (match === "all") return terms.map(() => 1);
  const among = terms.map(() => 0);
  for (const { counts } of hits) {
    for (const [term, count] of counts.entries()) among[term]! += count > 0 ? 1 : 0;
  }
  return among.map((count) => 1 / Math.log2(2 + count) ** 2);
}

/** BM25: how well an entry fits, by how often each term stands in it, their weight, and its length. */
function fitness({
  counts,
  characters,
  weights,
}: {
  counts: readonly number[];
  characters: number;
  weights: readonly number[];
}): number {
  const length = 1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * lengthClass(characters)) / USUAL_CHARACTERS;
  const parts = counts.map((count, term) => {
    return (weights[term]! * count * (SATURATION + 1)) / (count + SATURATION * length);
  });
  return parts.reduce((sum, part) => sum + part, 0);
}

/** Lengths that count as the same. */
function lengthClass(characters: number): number {
  return USUAL_CHARACTERS * 2 ** Math.max(0, Math.ceil(Math.log2(characters / USUAL_CHARACTERS)));
}
