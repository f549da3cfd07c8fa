import { setImmediate as nextTurn } from "node:timers/promises";
import { BonsaiError, callsIn } from "@bonsai-agent/messages";
import { CallPairs } from "@bonsai-agent/messages/host";
import { type Entry, openSession, type Session } from "@bonsai-agent/session";
import { hiddenLookup } from "@bonsai-agent/session/host";
import type { SearchThread, SessionHit } from "@bonsai-agent/session/search";
import { queryTerms, type RankedEntry, rankedEntries } from "./ranking.ts";
import { type RecalledEntry, recalledEntry, scopeOf } from "./recalled-entry.ts";

/** The search always covers the hidden entries of the path to the leaf. True adds more. */
export interface RecallScope {
  /** Entries on other branches of the session. */
  branches: boolean;
  /** Other sessions of its folder. */
  sessions: boolean;
}

/** A `SearchThread` or a `SessionSearch`. */
export type FindsEntries = Pick<SearchThread, "find">;

interface FindRecalledOptions extends RecallScope {
  session: Session;
  /** In plain words. */
  query: string;
  search: FindsEntries;
  /** Maximum number of hits. */
  limit: number;
  signal?: AbortSignal | undefined;
}

export interface RecallFindings {
  /** Best first. */
  hits: RankedEntry[];
  /** Number of entries with a term of the query, among the ranked ones. */
  count: number;
}

/** Maximum number of entries with terms of the query to read and rank, in the session and in all others. */
const MAX_CANDIDATES = 500;
/** From this number of candidates on, the search does not ask for more. */
const ENOUGH_CANDIDATES = 100;
const MAX_REQUESTED_HITS = 16_000;
/** Maximum number of candidates from each other session. */
const MAX_CANDIDATES_PER_SESSION = 25;
/** Maximum distance, in entries, between a call and its results. */
const MAX_RESULT_DISTANCE = 24;

/**
 * Finds the entries that match a query in plain words, in a session and in the other places that the options add.
 * @throws the signal's reason
 */
export async function findRecalled(options: FindRecalledOptions): Promise<RecallFindings> {
  const { session, query, limit } = options;
  const terms = queryTerms(query);
  if (terms.length === 0) return { hits: [], count: 0 };
  // The query's own spellings come first, because the search accepts a limited number of texts.
  const texts = [0, 1].flatMap((at) => terms.flatMap(({ variants }) => variants[at]?.text ?? []));
  const own = await ownEntries(session, texts, options);
  const others = options.sessions ? await othersEntries(session, texts, options) : [];
  return rankedEntries([...others, ...own], { terms, limit, turn: turns(options.signal) });
}

/** The candidates of this session, oldest first. */
async function ownEntries(
  session: Session,
  texts: readonly string[],
  { branches, search, signal }: FindRecalledOptions,
): Promise<RecalledEntry[]> {
  const isWithin = scopeOf(session, { branches });
  const calls = callsOfHiddenResults(session);
  const { file } = session;
  const isWanted = (entryId: string) => isWithin(entryId) || calls.has(entryId);
  const ids =
    file === undefined
      ? Array.from(session.index().records(), ({ id }) => id).filter(isWanted)
      : await foundIds({ search, signal }, texts, { file, isWanted });
  const found = new Map<number, RecalledEntry>();
  const turn = turns(signal);
  for (const id of ids) {
    await turn();
    for (const entry of withResults(session, id)) {
      const recalled = isWithin(entry.id) ? recalledEntry(session, entry) : undefined;
      if (recalled !== undefined) found.set(session.index().find(entry.id), recalled);
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([, recalled]) => recalled);
}

/** Time after which other work runs, such as the handling of keys. */
const SLICE_MS = 8;

/** Returns a function that lets other work run when it is due. */
function turns(signal: AbortSignal | undefined): () => Promise<void> {
  let untilMs = performance.now() + SLICE_MS;
  return async () => {
    if (performance.now() < untilMs) return;
    await nextTurn();
    signal?.throwIfAborted();
    untilMs = performance.now() + SLICE_MS;
  };
}

/** Ids of the wanted entries, best first. Asks for more hits if unwanted entries take the first places. */
async function foundIds(
  { search, signal }: Pick<FindRecalledOptions, "search" | "signal">,
  terms: readonly string[],
  { file, isWanted }: { file: string; isWanted: (entryId: string) => boolean },
): Promise<string[]> {
  for (let limit = MAX_CANDIDATES; ; limit *= 4) {
    const { hits, more } = await search.find({ terms, match: "any" }, { scope: { file }, limit, signal });
    const wanted = hits.flatMap(({ entryId }: SessionHit) => (isWanted(entryId) ? [entryId] : []));
    if (!more || wanted.length >= ENOUGH_CANDIDATES || limit >= MAX_REQUESTED_HITS)
      return wanted.slice(0, MAX_CANDIDATES);
  }
}

async function othersEntries(
  session: Session,
  terms: readonly string[],
  { search, signal }: FindRecalledOptions,
): Promise<RecalledEntry[]> {
  const { hits } = await search.find(
    { terms, match: "any" },
    { scope: { cwd: session.cwd }, limit: MAX_CANDIDATES, perSession: MAX_CANDIDATES_PER_SESSION, signal },
  );
  const byFile = Map.groupBy(hits, ({ file }) => file);
  if (session.file !== undefined) byFile.delete(session.file);
  return [...byFile].flatMap(([file, found]) => entriesOf(file, found));
}

/** Skips a session that was deleted or damaged after the search. */
function entriesOf(file: string, found: readonly SessionHit[]): RecalledEntry[] {
  let other: Session | undefined;
  try {
    other = openSession(file);
    const opened = other;
    const entries = found.flatMap(({ entryId }) => withResults(opened, entryId));
    return entries.flatMap((entry) => recalledEntry(opened, entry) ?? []);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    return [];
  } finally {
    other?.close();
  }
}

/** Visible calls of hidden results: the call contains the path or command. */
function callsOfHiddenResults(session: Session): ReadonlySet<string> {
  const isHidden = hiddenLookup(session);
  const { items } = session.projection();
  const pairs = new CallPairs();
  const callIds = items.flatMap(({ message, entryId }) => {
    const called = pairs.add(message);
    return called === undefined || isHidden(entryId) === undefined ? [] : [items[called.callIndex]!.entryId];
  });
  return new Set(callIds);
}

/** An entry, and the results of its calls. */
function withResults(session: Session, entryId: string): Entry[] {
  const entry = session.entry(entryId);
  if (entry === undefined) return [];
  const calls = new Set(entry.type === "message" ? callsIn(entry.message).map(({ id }) => id) : []);
  const found = [entry];
  const index = session.index();
  const first = index.find(entryId) + 1;
  const last = Math.min(index.count, first + MAX_RESULT_DISTANCE);
  for (let number = first; calls.size > 0 && number < last; number += 1) {
    const next = index.type(number) === "message" ? session.entryAt(number) : undefined;
    if (next?.type !== "message" || next.message.role !== "toolResult") continue;
    if (calls.delete(next.message.toolCallId)) found.push(next);
  }
  return found;
}
