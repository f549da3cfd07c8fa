import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { SecretFilter } from "@bonsai-agent/messages";
import { distinct, firstOfEachFile, matchedEntry, readBest, type ScoredHit } from "./hits.ts";
import { isFileError } from "./index-writer.ts";
import type { QueryMatcher } from "./query.ts";
import type { Candidate } from "./search-index.ts";
import { type EntryFacts, FILE_START, type FilePosition, type SessionSource } from "./source.ts";

/** One search, with its defaults. */
export interface SearchRequest {
  matcher: QueryMatcher;
  sources: readonly SessionSource[];
  limit: number;
  perSession: number;
  secrets?: SecretFilter;
  signal?: AbortSignal | undefined;
  /** Called for each file that cannot be read. */
  unread: string[];
}

export interface Hits {
  hits: ScoredHit[];
  /** True if hits were left out. */
  isCut: boolean;
}

/** The part of a file that is read before other tasks get a turn. */
const SLICE_BYTES = 1 << 18;
const READ_AT_ONCE = 50;

/** The first hits in file order. */
export async function firstHits(request: SearchRequest): Promise<Hits> {
  const hits: ScoredHit[] = [];
  const chosen = (found: readonly ScoredHit[]) => firstOfEachFile(distinct(found), request.perSession);
  for (const source of request.sources) {
    const found: ScoredHit[] = [];
    const isEnough = () =>
      hits.length + found.length > request.limit && hits.length + chosen(found).length > request.limit;
    if (!isEnough()) await scan(source, { request, hits: found, isEnough });
    hits.push(...chosen(found));
  }
  return { hits, isCut: false };
}

/**
 * Adds the hits of a session from a position to its end, in file order. Notes a file that cannot be read.
 * @throws the signal's reason
 */
export async function scan(
  source: SessionSource,
  part: {
    request: SearchRequest;
    hits: ScoredHit[];
    from?: FilePosition | undefined;
    isEnough?: () => boolean;
  },
): Promise<void> {
  const { signal, unread } = part.request;
  try {
    await scanSlices(source, part);
  } catch (error) {
    if (signal?.aborted || !isFileError(error)) throw error;
    unread.push(source.file);
  } finally {
    source.close();
  }
}

async function scanSlices(
  source: SessionSource,
  {
    request: { matcher, secrets, signal },
    hits,
    from = FILE_START,
    isEnough = () => false,
  }: Parameters<typeof scan>[1],
): Promise<void> {
  signal?.throwIfAborted();
  const size = source.size();
  let position = from;
  for (let bytes = SLICE_BYTES; position.offset < size && !isEnough(); ) {
    const until = Math.min(size, position.offset + bytes);
    const entries: { facts: EntryFacts; offset: number }[] = [];
    const next = source.visitEntries({
      from: position,
      until,
      lastLine: until === size,
      visit: ({ line, facts: read }) => {
        const { bytes: held, start, end, whole, offset } = line;
        if (whole && !matcher.mayMatch(held.toString("latin1", start, end))) return;
        const facts = read(secrets);
        if (facts !== undefined) entries.push({ facts, offset });
      },
    });
    const matches = await matcher.findAll(entries.map(({ facts }) => facts.texts));
    for (const [at, { facts, offset }] of entries.entries()) {
      const match = matches[at];
      if (match !== undefined) hits.push(matchedEntry(facts, { match, file: source.file, offset }));
    }
    if (until === size) return;
    // A line can be longer than a slice.
    bytes = next.offset === position.offset ? 2 * bytes : SLICE_BYTES;
    position = next;
    await yieldToEventLoop();
    signal?.throwIfAborted();
  }
}

/** Reads the best candidates in their sessions. After several, it reports their hits and gives other tasks a turn. */
export async function readCandidates(
  candidates: readonly Candidate[],
  { request, report }: { request: SearchRequest; report: (hits: readonly ScoredHit[]) => void },
): Promise<Hits> {
  const { sources, matcher, secrets, signal } = request;
  const byFile = new Map(sources.map((source) => [source.file, source]));
  const pending: ScoredHit[] = [];
  let count = 0;
  const read = async (candidate: Candidate) => {
    const { file, offset } = candidate;
    const facts = byFile.get(file)!.entryAt(candidate, secrets);
    const match = facts && matcher.find(facts.texts);
    const hit = facts && match && matchedEntry(facts, { match, file, offset });
    if (hit !== undefined) pending.push(hit);
    if (++count % READ_AT_ONCE === 0) {
      for (const source of sources) source.close();
      report(pending.splice(0));
      await yieldToEventLoop();
      signal?.throwIfAborted();
    }
    return hit;
  };
  const best = await readBest(candidates, { ...request, read });
  report(pending);
  return best;
}
