import { BonsaiError } from "@bonsai-agent/messages";
import { openSession, type Session } from "@bonsai-agent/session";
import { hiddenLookup } from "@bonsai-agent/session/host";
import {
  bestLines,
  type SearchFindings,
  type SearchThread,
  SessionSearch,
} from "@bonsai-agent/session/search";
import { numberedIds, type RecalledEntry, recalledEntry, scopeOf } from "./recalled-entry.ts";

/** The search always covers the hidden entries of the path to the leaf. True adds more. */
export interface RecallScope {
  /** Entries on other branches of the session. */
  branches: boolean;
  /** Other sessions of its folder. */
  sessions: boolean;
  /** Entries that the model's view shows, for a reader without that view. Default: false. */
  shown?: boolean | undefined;
}

/** A `SearchThread` or a `SessionSearch`. */
export type FindsEntries = Pick<SearchThread, "find">;

interface FindRecalledOptions extends RecallScope {
  session: Session;
  /** Plain words, or the number of a user message. */
  query: string;
  search: FindsEntries;
  /** Maximum number of hits. */
  limit: number;
  signal?: AbortSignal | undefined;
}

/** An entry that matches the query. */
export interface RankedEntry {
  entry: RecalledEntry;
  /** Numbers of the best lines, from 1, ascending. */
  lines: readonly number[];
  /** Ids of entries with the same text. */
  also: string[];
}

export interface RecallFindings extends Pick<SearchFindings, "more" | "terms"> {
  /** Best first. */
  hits: RankedEntry[];
}

/** Entries to read for each hit, because some repeat others. */
const READ_PER_HIT = 3;
/** Lines shown of one hit. */
const SHOWN_LINES = 4;

/**
 * Finds the entries that match a query in plain words, in a session and in the other places that the options add.
 * @throws the signal's reason
 */
export async function findRecalled(options: FindRecalledOptions): Promise<RecallFindings> {
  const { session, query, limit, signal } = options;
  const isWithin = scopeOf(session, options);
  const { file } = session;
  const entryIds = possibleIds(session, options);
  const asked = { limit: READ_PER_HIT * limit + 1, requiresPhrases: false, signal, entryIds };
  const own =
    file === undefined
      ? await new SessionSearch({ index: false }).find(query, { ...asked, scope: { session } })
      : await options.search.find(query, { ...asked, scope: { sources: [{ file }] } });
  const ownIds = own.hits.map(({ entryId }) => entryId);
  const entries = [...numberedIds(session, query), ...ownIds].flatMap((id) => {
    const entry = isWithin(id) ? session.entry(id) : undefined;
    return (entry && recalledEntry(session, entry)) ?? [];
  });
  const others = options.sessions ? await otherEntries(options) : { entries: [], terms: [] };
  const terms = own.terms.length > 0 ? own.terms : others.terms;
  const hits = distinctHits(interleaved(entries, others.entries), terms);
  return { hits: hits.slice(0, limit), more: hits.length > limit || own.more, terms };
}

const TYPES = ["message", "custom_message", "branch_summary"];

/** Ids of the entries that may be hidden. Does not read the entries. */
function possibleIds(session: Session, { branches, shown: isShownToo }: RecallScope): Set<string> {
  const index = session.index();
  const hidden = hiddenLookup(session);
  const shown = new Set(session.projection().items.map(({ entryId }) => entryId));
  const { leafId } = session;
  const path = leafId === null ? [] : index.ancestry(index.find(leafId));
  const numbers = branches ? Array.from({ length: index.count }, (_, number) => number) : path;
  const ids = numbers
    .filter((number) => TYPES.includes(index.type(number)))
    .map((number) => index.id(number));
  return new Set(ids.filter((id) => isShownToo || !shown.has(id) || hidden(id) !== undefined));
}

/** Hits of other sessions of the folder. Skips a session that was deleted or damaged after the search. */
async function otherEntries({
  session,
  query,
  search,
  limit,
  signal,
}: FindRecalledOptions): Promise<{ entries: RecalledEntry[]; terms: SearchFindings["terms"] }> {
  const { hits, terms } = await search.find(query, {
    scope: { cwd: session.cwd },
    limit: READ_PER_HIT * limit,
    signal,
  });
  const opened = new Map<string, Session>();
  try {
    const entries = hits.flatMap(({ file, entryId }) => {
      if (file === session.file) return [];
      try {
        const other = opened.get(file) ?? openSession(file);
        opened.set(file, other);
        const entry = other.entry(entryId);
        return (entry && recalledEntry(other, entry)) ?? [];
      } catch (error) {
        if (!BonsaiError.is(error)) throw error;
        return [];
      }
    });
    return { entries, terms };
  } finally {
    for (const other of opened.values()) other.close();
  }
}

/** Alternates between the two lists, own entries first: their scores are not comparable. */
function interleaved(own: readonly RecalledEntry[], others: readonly RecalledEntry[]): RecalledEntry[] {
  return Array.from({ length: Math.max(own.length, others.length) }, (_, at) => [own[at], others[at]])
    .flat()
    .filter((entry) => entry !== undefined);
}

/** Merges an entry into the earlier hit that it repeats, such as a result of the same call. */
function distinctHits(entries: readonly RecalledEntry[], terms: SearchFindings["terms"]): RankedEntry[] {
  const hits: (RankedEntry & { said: ReadonlySet<string> })[] = [];
  for (const entry of entries) {
    const texts = entry.text.split("\n").map((line) => line.trim());
    const best = bestLines(entry.text, terms, SHOWN_LINES);
    // An edit may have removed words that the session file still has.
    if (best.length === 0 && entry.isEdited) continue;
    const first = texts.findIndex((text) => text !== "");
    const places = best.length > 0 ? best.sort((a, b) => a - b) : [Math.max(0, first)];
    const same = hits.find(
      ({ entry: { kind, entryId }, said }) =>
        kind === entry.kind || entryId === entry.entryId || places.every((place) => said.has(texts[place]!)),
    );
    if (same === undefined)
      hits.push({ entry, lines: places.map((place) => place + 1), also: [], said: new Set(texts) });
    else if (same.entry.entryId !== entry.entryId) same.also.push(entry.entryId);
  }
  return hits.map(({ said: _, ...hit }) => hit);
}
