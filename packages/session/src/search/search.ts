import { BonsaiError, SecretFilter, textPart } from "@bonsai-agent/messages";
import type { Entry } from "../entry.ts";
import { entryTexts } from "../entry-types.ts";
import type { Session } from "../session.ts";
import { JsonlStore } from "../store/jsonl-store.ts";
import { forEachLine, type Line } from "../store/line-reader.ts";

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
 * labels and names, in upper and lower case. Hits come as they are found, so a caller can stop after a few.
 * @param secrets redacts the snippets. Default: it redacts nothing
 */
export function* searchEntries(
  session: Session,
  query: string,
  secrets = new SecretFilter([], false),
): Generator<SearchHit> {
  const pattern = searchPattern(query);
  const isActive = activeRecords(session);
  for (const number of candidates(session, pattern)) {
    const entry = session.entryAt(number);
    const snippet = entry && firstMatch(entry, pattern, secrets);
    if (snippet !== undefined) yield hit(entry!, snippet, isActive(number));
  }
}

/** The first match in each of some texts, by their number from 0. */
export type FindInTexts = (texts: readonly string[]) => Promise<ReadonlyMap<number, TextRange>>;

/** So much text is given to `FindInTexts` at once, or one entry's, where that is more. */
const BATCH_CHARACTERS = 1 << 18;

/**
 * The same with a finder that works elsewhere: a regular expression can take for ever, and is to be run where it can be
 * ended, see `searchExpression`.
 */
export async function* searchEntriesWith(
  session: Session,
  find: FindInTexts,
  secrets = new SecretFilter([], false),
): AsyncGenerator<SearchHit> {
  const isActive = activeRecords(session);
  for (const entries of batches(session)) {
    const texts = entries.flatMap((each) => each.texts);
    const found = await find(texts);
    let next = 0;
    for (const { entry, number, texts: own } of entries) {
      const first = next;
      next += own.length;
      const at = own.findIndex((_text, index) => found.has(first + index));
      if (at >= 0)
        yield hit(entry, redactedSnippet(own[at]!, found.get(first + at)!, secrets), isActive(number));
    }
  }
}

interface EntryTexts {
  entry: Entry;
  /** Of its record. */
  number: number;
  texts: readonly string[];
}

function* batches(session: Session): Generator<EntryTexts[]> {
  let batch: EntryTexts[] = [];
  let characters = 0;
  for (const { number } of session.index().records()) {
    const entry = session.entryAt(number);
    const texts = entry === undefined ? [] : [...entryTexts(entry)];
    if (texts.length === 0) continue;
    batch.push({ entry: entry!, number, texts });
    characters += texts.reduce((sum, text) => sum + text.length, 0);
    if (characters < BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
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

function firstMatch(entry: Entry, pattern: SearchPattern, secrets: SecretFilter): string | undefined {
  for (const text of entryTexts(entry)) {
    const found = pattern.find(text);
    if (found !== undefined) return redactedSnippet(text, found, secrets);
  }
  return undefined;
}

/** The whole text is redacted first: a part of a secret does not look like one. */
function redactedSnippet(text: string, found: TextRange, secrets: SecretFilter): string {
  const redacted = secrets.text(text);
  if (redacted === text) return snippet(text, found);
  const match = text.slice(found.start, found.end);
  const shift = secrets.text(text.slice(0, found.start)).length;
  const near = redacted.indexOf(match, Math.max(0, shift - SNIPPET_CHARACTERS));
  const start = near >= 0 ? near : Math.min(shift, redacted.length);
  return snippet(redacted, { start, end: near >= 0 ? start + match.length : start });
}

/** Some text around a place, on one line. */
export function snippet(text: string, { start, end }: TextRange): string {
  const from = Math.max(0, start - SNIPPET_CHARACTERS);
  const to = Math.min(text.length, Math.min(end, start + 2 * SNIPPET_CHARACTERS) + SNIPPET_CHARACTERS);
  const line = textPart(text, from, to).replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${to < text.length ? "…" : ""}`;
}

/** Where something stands in a text. */
export interface TextRange {
  start: number;
  end: number;
}

/** A query, ready to be looked for in texts and, before they are parsed, in stored lines. */
interface SearchPattern {
  /** Where the query stands in a text. */
  find(text: string): TextRange | undefined;
  /** False only when no text of this stored line, read as Latin-1, can hold the query. */
  mayMatchLine(line: string): boolean;
}

/** A text, to be found in upper and lower case. */
function searchPattern(query: string): SearchPattern {
  const expression = new RegExp(escaped(query), "i");
  const find = (text: string) => {
    const match = expression.exec(text);
    return match === null ? undefined : { start: match.index, end: match.index + match[0].length };
  };
  return { find, mayMatchLine: lineFilter(query) };
}

/** A longer run tells no more lines apart, and takes longer to look for. */
const MOST_FILTERED = 64;

/**
 * JSON may write any character as `\uXXXX`, and some in other ways; but letters and digits it writes as they
 * are or as `\u`. So a line that has neither the query's longest run of them nor any `\u` cannot match.
 */
export function lineFilter(query: string): (line: string) => boolean {
  const runs = query.match(/[A-Za-z0-9 ]+/g) ?? [];
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a), "").slice(0, MOST_FILTERED);
  if (longest === "") return () => true;
  const filter = new RegExp(`${longest}|\\\\u`, "i");
  return (line) => filter.test(line);
}

/**
 * A query that is a regular expression. It is run where it can be ended: some take for ever.
 * @throws BonsaiError `bad_search_pattern`
 */
export function searchExpression(query: string): RegExp {
  try {
    return new RegExp(query, "i");
  } catch (cause) {
    throw new BonsaiError({
      code: "bad_search_pattern",
      message: `"${query}" is not a valid regular expression: ${(cause as Error).message}`,
      hint: "Escape special characters with a backslash, or search for plain text.",
      cause,
    });
  }
}

function escaped(query: string): string {
  return query.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
