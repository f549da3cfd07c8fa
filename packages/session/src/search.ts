import type { Entry } from "./entry.ts";
import { entryTexts } from "./entry-text.ts";
import { JsonlStore } from "./jsonl-store.ts";
import { forEachLine, type Line } from "./line-reader.ts";
import { type SearchPattern, searchPattern } from "./search-pattern.ts";
import type { Session } from "./session.ts";

export interface SearchOptions {
  /** Read the query as a regular expression. Default false. Either way upper and lower case are the same. */
  regex?: boolean;
}

/** One entry that holds the query. */
export interface SearchHit {
  entryId: string;
  type: Entry["type"];
  /** Of a message entry. */
  role?: string;
  /** The first match with some text around it, on one line. */
  snippet: string;
  onActivePath: boolean;
}

const SNIPPET_CHARACTERS = 60;

/**
 * Looks for a text in the entries of all branches, in file order: messages with their tool calls, summaries,
 * labels and names. Hits come as they are found, so a caller can stop after a few.
 * @throws BonsaiError `bad_search_pattern`
 */
export function searchEntries(
  session: Session,
  query: string,
  options: SearchOptions = {},
): Generator<SearchHit> {
  return hits(session, searchPattern(query, options));
}

function* hits(session: Session, pattern: SearchPattern): Generator<SearchHit> {
  const isActive = activeRecords(session);
  for (const number of candidates(session, pattern)) {
    const entry = session.entryAt(number);
    const snippet = entry && firstMatch(entry, pattern);
    if (snippet !== undefined) yield hit(entry!, snippet, isActive(number));
  }
}

/** Numbers of the records whose stored line may hold the query. Parses nothing. */
function candidates(session: Session, pattern: SearchPattern): number[] {
  const index = session.index();
  const records = index.records();
  if (session.file === undefined) return Array.from(records, ({ number }) => number);
  const numbers: number[] = [];
  const store = JsonlStore.open(session.file);
  let { value: record } = records.next();
  const visit = (line: Line): void => {
    while (record !== undefined && record.line < line.number) ({ value: record } = records.next());
    if (record?.line !== line.number) return;
    if (!line.whole || pattern.mayMatchLine(line.bytes.toString("latin1", line.start, line.end))) {
      numbers.push(record.number);
    }
  };
  try {
    forEachLine({ store, from: 0, until: store.size(), visit });
  } finally {
    store.close();
  }
  return numbers;
}

function activeRecords(session: Session): (number: number) => boolean {
  const index = session.index();
  const active = new Uint8Array(index.count);
  const leaf = session.leafId === null ? -1 : index.find(session.leafId);
  for (let at = leaf; at >= 0; at = index.parent(at)) active[at] = 1;
  return (number) => active[number] === 1;
}

function hit(entry: Entry, snippet: string, onActivePath: boolean): SearchHit {
  const { id: entryId, type } = entry;
  const role = entry.type === "message" ? (entry.message as { role?: unknown } | undefined)?.role : undefined;
  return { entryId, type, ...(typeof role === "string" ? { role } : {}), snippet, onActivePath };
}

function firstMatch(entry: Entry, pattern: SearchPattern): string | undefined {
  for (const text of entryTexts(entry)) {
    const found = pattern.find(text);
    if (found !== undefined) return snippet(text, found);
  }
  return undefined;
}

function snippet(text: string, { start, end }: { start: number; end: number }): string {
  const from = Math.max(0, start - SNIPPET_CHARACTERS);
  const to = Math.min(text.length, Math.min(end, start + 2 * SNIPPET_CHARACTERS) + SNIPPET_CHARACTERS);
  const line = text.slice(from, to).toWellFormed().replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${to < text.length ? "…" : ""}`;
}
