import { isRecord, SecretFilter } from "@bonsai-agent/messages";
import { type Entry, entryTexts } from "@bonsai-agent/session";
import { userWords } from "@bonsai-agent/session/host";

// Facts that the tables keep about stored lines.

const NEWLINE = 10;

/** Visits whole lines with the offset of each. */
export function* linesOf(bytes: Buffer, offset: number): Generator<{ line: Buffer; offset: number }> {
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(NEWLINE, at);
    if (end < 0) return;
    yield { line: bytes.subarray(at, end), offset: offset + at };
    at = end + 1;
  }
}

/** Length of the whole lines at the start of some bytes. */
export function wholeLength(bytes: Buffer): number {
  return bytes.lastIndexOf(NEWLINE) + 1;
}

function parsed(line: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line.toString());
    return isRecord(value) ? value : undefined;
  } catch {
    // A damaged line is stored like any other.
    return undefined;
  }
}

/** Facts for the list of sessions. */
interface ListedFacts {
  lines: number;
  /** The latest name; null if it was removed. Absent if the lines do not change it. */
  name?: string | null;
  firstWords?: string;
}

const INFO = Buffer.from('"session_info"');
const USER = Buffer.from('"role":"user"');

/** @param knowsFirstWords true if earlier lines had the first user message */
export function listedFacts(bytes: Buffer, knowsFirstWords: boolean): ListedFacts {
  const facts: ListedFacts = { lines: 0 };
  for (const { line } of linesOf(bytes, 0)) {
    facts.lines += 1;
    if (line.includes(INFO)) {
      const entry = parsed(line);
      if (entry?.type === "session_info") facts.name = typeof entry.name === "string" ? entry.name : null;
    } else if (!knowsFirstWords && facts.firstWords === undefined && line.includes(USER)) {
      const words = userWords(parsed(line));
      if (words !== undefined) facts.firstWords = storable(words);
    }
  }
  if (typeof facts.name === "string") facts.name = storable(facts.name);
  return facts;
}

/** Rows of `bonsai.texts`: the texts that a local search finds too, with secrets redacted. */
export function textRows(bytes: Buffer, offset: number): object[] {
  const secrets = new SecretFilter();
  const rows: object[] = [];
  for (const each of linesOf(bytes, offset)) {
    const entry = parsed(each.line);
    if (typeof entry?.id !== "string" || typeof entry.type !== "string" || entry.type === "session") continue;
    const texts = textsIn(entry as unknown as Entry);
    if (texts.length === 0) continue;
    const { role } = (isRecord(entry.message) ? entry.message : {}) as { role?: unknown };
    rows.push({
      from_byte: each.offset,
      entry_id: storable(entry.id),
      type: storable(entry.type),
      role: typeof role === "string" ? storable(role) : null,
      at: timeOf(entry.timestamp),
      body: storable(secrets.values(texts).join("\n\n")),
    });
  }
  return rows;
}

function textsIn(entry: Entry): string[] {
  try {
    return [...entryTexts(entry)].filter((text) => text.trim() !== "");
  } catch {
    // The fields of a hostile file can have any type.
    return [];
  }
}

function timeOf(value: unknown): string | null {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  const isStorable = ms > Date.UTC(0) && ms < Date.UTC(9999);
  return isStorable ? new Date(ms).toISOString() : null;
}

/** PostgreSQL stores neither NUL nor half characters in texts. */
export function storable(text: string): string {
  return text.replaceAll("\0", " ").toWellFormed();
}
