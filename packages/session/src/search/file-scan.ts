import type { Session } from "../session.ts";
import { entryFacts, FILE_START, type FilePosition } from "./entry-lines.ts";
import { type Found, foundIn } from "./hit.ts";
import { isOfFile, turn } from "./index-writer.ts";
import { lineFilter } from "./search.ts";
import type { TermMatcher } from "./search-query.ts";
import type { SessionSource } from "./session-source.ts";

/** Whether an entry is to be found. */
export type IsWanted = (entry: { file: string; entryId: string }) => boolean;

const SCAN_BYTES = 1 << 20;

/** Reads what the index does not know of some files. */
export async function scanned(
  matcher: TermMatcher,
  {
    sources,
    indexed,
    unread,
    isWanted,
    signal,
    onRead,
  }: {
    sources: readonly SessionSource[];
    indexed: ReadonlyMap<string, FilePosition>;
    unread: Set<string>;
    isWanted: IsWanted;
    signal: AbortSignal | undefined;
    /** Called with the hits of each file. */
    onRead: (hits: readonly Found[]) => void;
  },
): Promise<Found[]> {
  const found: Found[] = [];
  for (const source of sources) {
    const before = found.length;
    try {
      const from = indexed.get(source.file) ?? FILE_START;
      await scan(source, { matcher, from, found, isWanted, signal });
    } catch (error) {
      if (signal?.aborted || !isOfFile(error)) throw error;
      unread.add(source.file);
    } finally {
      source.close();
    }
    onRead(found.slice(before));
  }
  return found;
}

async function scan(
  source: SessionSource,
  {
    matcher,
    from,
    found,
    isWanted,
    signal,
  }: {
    matcher: TermMatcher;
    from: FilePosition;
    found: Found[];
    isWanted: IsWanted;
    signal: AbortSignal | undefined;
  },
): Promise<void> {
  signal?.throwIfAborted();
  const size = source.size();
  if (from.offset >= size) return;
  const lines = source.lines();
  const mayMatch = filterOf(matcher);
  let position: FilePosition = from;
  for (let bytes = SCAN_BYTES; position.offset < size; ) {
    const until = Math.min(size, position.offset + bytes);
    const next = lines.read({
      from: position,
      until,
      lastLine: until === size,
      visit: ({ entryId, line, entry }) => {
        if (line.whole && !mayMatch(line.bytes.toString("latin1", line.start, line.end))) return;
        if (!isWanted({ file: source.file, entryId })) return;
        const read = entry();
        const facts = read && entryFacts(read, matcher.showSecrets);
        const place = { file: source.file, entryId, offset: line.offset };
        const match = facts && foundIn(facts, { matcher, ...place });
        if (match !== undefined) found.push(match);
      },
    });
    if (until === size) return;
    bytes = next.offset === position.offset ? 2 * bytes : SCAN_BYTES;
    position = next;
    await turn();
    signal?.throwIfAborted();
  }
}

const ENTRIES_AT_ONCE = 1000;

/** The same of a session that has no file. Its hits name none. */
export async function scannedInMemory(
  matcher: TermMatcher,
  { session, isWanted, signal }: { session: Session; isWanted: IsWanted; signal: AbortSignal | undefined },
): Promise<Found[]> {
  const found: Found[] = [];
  for (const [number, entry] of session.entries().entries()) {
    if (number % ENTRIES_AT_ONCE === 0) {
      await turn();
      signal?.throwIfAborted();
    }
    const place = { file: "", entryId: entry.id, offset: number };
    const match = isWanted(place)
      ? foundIn(entryFacts(entry, matcher.showSecrets), { matcher, ...place })
      : undefined;
    if (match !== undefined) found.push(match);
  }
  return found;
}

function filterOf({ terms, match, selects }: TermMatcher): (line: string) => boolean {
  const filters = terms.filter((_, term) => match === "all" || selects[term]).map(lineFilter);
  return (line) =>
    match === "all" ? filters.every((filter) => filter(line)) : filters.some((filter) => filter(line));
}
