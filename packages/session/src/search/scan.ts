import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { SecretFilter } from "@bonsai-agent/messages";
import { hitOf, type SessionHit } from "./hits.ts";
import { isFileError } from "./index-writer.ts";
import type { PatternQuery, Query } from "./query.ts";
import { entryNumber, fileOf, MAX_ENTRIES, type Postings, partNumber } from "./ranking.ts";
import type { EntryPlace } from "./search-index.ts";
import { type EntryFacts, FILE_START, fieldTexts, type SessionSource } from "./source.ts";
import { isLoneCharacter, searchText, stemmed, wordsIn } from "./words.ts";

interface ScanOptions {
  sources: readonly SessionSource[];
  secrets?: SecretFilter | undefined;
  signal?: AbortSignal | undefined;
  /** Called for each file that cannot be read. */
  onUnread: (file: string) => void;
}

/** The part of a file that is read before other tasks get a turn. */
const SLICE_BYTES = 1 << 18;

type Visit = (
  entries: { facts: EntryFacts; place: EntryPlace; number: number }[],
) => Promise<boolean> | boolean;

/**
 * Reads the entries of the sessions, some at a time, until `visit` returns false.
 * @throws the signal's reason
 */
async function scan({ sources, secrets, signal, onUnread }: ScanOptions, visit: Visit): Promise<void> {
  for (const [at, source] of sources.entries()) {
    try {
      const size = source.size();
      let position = FILE_START;
      for (let bytes = SLICE_BYTES; position.offset < size; ) {
        signal?.throwIfAborted();
        const until = Math.min(size, position.offset + bytes);
        const entries: Parameters<Visit>[0] = [];
        const next = source.visitEntries({
          from: position,
          until,
          lastLine: until === size,
          visit: ({ entryId, place, line: { offset, lengthBytes }, facts: read }) => {
            const facts = read(secrets);
            if (facts === undefined || facts.texts.length === 0) return;
            const entryPlace = { entryId, offset, lengthBytes, timeMs: facts.timeMs };
            entries.push({ facts, place: entryPlace, number: entryNumber(at, place) });
          },
        });
        if (!(await visit(entries))) return;
        if (until === size) break;
        // A line can be longer than a slice.
        bytes = next.offset === position.offset ? 2 * bytes : SLICE_BYTES;
        position = next;
        await yieldToEventLoop();
      }
    } catch (error) {
      if (signal?.aborted || !isFileError(error)) throw error;
      onUnread(source.file);
    } finally {
      source.close();
    }
  }
}

/** The postings of a query and the places of entries, without an index. */
export interface Scanned {
  postings: Postings;
  places: ReadonlyMap<number, EntryPlace>;
}

/** Finds the parts for the terms of a query by reading all entries. */
export async function scannedPostings({ terms }: Query, options: ScanOptions): Promise<Scanned> {
  const places = new Map<number, EntryPlace>();
  const words = new Map(terms.map(({ text }) => [text, wordsTest(text)]));
  const parts = new Map(terms.flatMap(({ part }) => (part === undefined ? [] : [[part, partTest(part)]])));
  const lists = new Map([...words.values(), ...parts.values()].map((test) => [test, [] as number[]]));
  await scan(options, (entries) => {
    for (const { facts, place, number } of entries) {
      places.set(number, place);
      for (const [field, text] of fieldTexts(facts)) {
        const own = wordsIn(searchText(text));
        const [plain, stems] = [` ${own.join(" ")} `, stemmed(own)];
        const part = partNumber(number, field, own.length);
        for (const [test, list] of lists) if (test(plain, stems)) list.push(part);
      }
    }
    return true;
  });
  const entryCounts = new Map<number, number>();
  for (const number of places.keys())
    entryCounts.set(fileOf(number), Math.max(number % MAX_ENTRIES, entryCounts.get(fileOf(number)) ?? 0));
  const postings: Postings = {
    entryCounts,
    parts: (text) => lists.get(words.get(text)!)!,
    partsWithin: (text) => lists.get(parts.get(text)!)!,
    countedAmong: () => places.size,
  };
  return { postings, places };
}

type Test = (plain: string, stems: string) => boolean;

function wordsTest(text: string): Test {
  const stems = isLoneCharacter(text) ? ` ${text}` : stemmed(text.split(" "));
  return (_, all) => all.includes(stems);
}

function partTest(part: string): Test {
  return (plain) => plain.includes(part);
}

/** The first hits of a pattern, in file order. */
export async function patternHits(
  { findTexts }: PatternQuery,
  { limit, ...options }: ScanOptions & { limit: number },
): Promise<SessionHit[]> {
  const hits: SessionHit[] = [];
  await scan(options, async (entries) => {
    const found = await findTexts(entries.flatMap(({ facts }) => facts.texts));
    let next = 0;
    for (const { facts, number } of entries) {
      const first = next;
      next += facts.texts.length;
      const text = facts.texts.findIndex((_, index) => found.has(first + index));
      const { file } = options.sources[fileOf(number)]!;
      if (text >= 0) hits.push(hitOf(facts, file, { text, ...found.get(first + text)! }));
    }
    return hits.length <= limit;
  });
  return hits;
}
