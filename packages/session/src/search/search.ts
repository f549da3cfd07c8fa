import { SecretFilter } from "@bonsai-agent/messages";
import { textPart } from "@bonsai-agent/messages/host";
import type { Entry } from "../entry.ts";
import { entryTexts } from "../entry-types.ts";
import type { Session } from "../session.ts";
import { LineWindow, WINDOW_BYTES } from "../store/line-reader.ts";

/** One entry that holds the query. */
export interface SearchHit {
  entryId: string;
  type: Entry["type"];
  /** Only for a message entry. */
  role?: string;
  /** The first match with some text around it, on one line. */
  snippet: string;
  onActivePath: boolean;
}

const SNIPPET_CHARACTERS = 60;

/** The first match in each of some texts, by their number from 0. */
type FindInTexts = (texts: readonly string[]) => Promise<ReadonlyMap<number, TextRange>>;

export interface FindInSessionOptions {
  /** Runs a regular expression elsewhere, because it may never end. Default: it runs here. */
  find?: FindInTexts;
  /** Redacts the snippets. Default: nothing is redacted. */
  secrets?: SecretFilter;
}

/** The finder gets this much text at once, or the texts of one entry if they are longer. */
const BATCH_CHARACTERS = 1 << 18;

/**
 * Finds entries in all branches of a session, in file order, by their texts: messages with their tool calls, summaries,
 * labels and names. Hits come as they are found, so a caller can stop after a few.
 * @param pattern a text, in upper or lower case, or a regular expression
 */
export async function* findInSession(
  session: Session,
  pattern: string | RegExp,
  { find, secrets = new SecretFilter([], false) }: FindInSessionOptions = {},
): AsyncGenerator<SearchHit> {
  const isText = typeof pattern === "string";
  const expression = isText ? new RegExp(escaped(pattern), "i") : pattern;
  const findTexts = find ?? (async (texts) => firstMatches(expression, texts));
  const isActive = activeRecords(session);
  for (const entries of batches(session, candidates(session, isText ? lineFilter(pattern) : () => true))) {
    const found = await findTexts(entries.flatMap((each) => each.texts));
    let next = 0;
    for (const { entry, number, texts } of entries) {
      const first = next;
      next += texts.length;
      const at = texts.findIndex((_text, index) => found.has(first + index));
      if (at >= 0)
        yield hit(entry, redactedSnippet(texts[at]!, found.get(first + at)!, secrets), isActive(number));
    }
  }
}

function firstMatches(expression: RegExp, texts: readonly string[]): Map<number, TextRange> {
  const found = new Map<number, TextRange>();
  for (const [at, text] of texts.entries()) {
    const match = expression.exec(text);
    if (match !== null) found.set(at, { start: match.index, end: match.index + match[0].length });
  }
  return found;
}

interface EntryTexts {
  entry: Entry;
  /** Number of its record. */
  number: number;
  texts: readonly string[];
}

function* batches(session: Session, numbers: readonly number[]): Generator<EntryTexts[]> {
  let batch: EntryTexts[] = [];
  let characters = 0;
  for (const { entry, number } of session.entriesAt(numbers)) {
    const texts = [...entryTexts(entry)];
    if (texts.length === 0) continue;
    batch.push({ entry, number, texts });
    characters += texts.reduce((sum, text) => sum + text.length, 0);
    if (characters < BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Numbers of the records whose stored line may match. Parses nothing. */
function candidates(session: Session, mayMatch: (line: string) => boolean): number[] {
  const index = session.index();
  const lines = new LineWindow(session.store);
  return Array.from(index.records(), ({ number }) => number).filter((number) => {
    const place = index.place(number);
    return place.lengthBytes > WINDOW_BYTES || mayMatch(lines.bytes(place).toString("latin1"));
  });
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

/** A range of a text. */
export interface TextRange {
  start: number;
  end: number;
}

/** A longer run tells no more lines apart, and takes longer to look for. */
const MAX_FILTERED = 64;

/**
 * JSON may write any character as `\uXXXX`, and some in other ways; but letters and digits it writes as they
 * are or as `\u`. So a line that has neither the query's longest run of them nor any `\u` cannot match.
 */
export function lineFilter(query: string): (line: string) => boolean {
  const runs = query.match(/[A-Za-z0-9 ]+/g) ?? [];
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a), "").slice(0, MAX_FILTERED);
  if (longest === "") return () => true;
  const filter = new RegExp(`${longest}|\\\\u`, "i");
  return (line) => filter.test(line);
}

function escaped(query: string): string {
  return query.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
