import { isUtf8 } from "node:buffer";
import { isRecord, SecretFilter } from "@bonsai-agent/messages";
import type { SessionStore } from "@bonsai-agent/session";

const NEWLINE = 10;
const READ_BYTES = 1 << 18;

type LineSource = Pick<SessionStore, "read">;

/** The bytes of a store up to an offset. */
export function* storedBytes(store: LineSource, until: number): Generator<Buffer> {
  for (let at = 0; at < until; ) {
    const bytes = Buffer.allocUnsafe(Math.min(READ_BYTES, until - at));
    const count = store.read(bytes, at);
    if (count === 0) return;
    at += count;
    yield bytes.subarray(0, count);
  }
}

/** Whole lines with their newlines, several at once; the last one can have none. */
function* wholeLines(store: LineSource, until: number): Generator<Buffer> {
  const begun: Buffer[] = [];
  for (const part of storedBytes(store, until)) {
    const end = part.lastIndexOf(NEWLINE) + 1;
    if (end > 0) yield Buffer.concat([...begun.splice(0), part.subarray(0, end)]);
    begun.push(part.subarray(end));
  }
  yield Buffer.concat(begun);
}

/**
 * Redacts the lines of session files. Only texts with a secret change: a line without one stays byte for byte, and ids,
 * types and structure stay in every whole line. A line that is not JSON is redacted as plain text.
 */
export class LineRedaction extends SecretFilter {
  readonly #isId: (text: string) => boolean;
  /** The redacted texts of the current line. */
  readonly #texts = new Map<string, string>();

  /** @param isId true for the ids of the session's entries */
  constructor(known: readonly string[], isId: (text: string) => boolean) {
    super(known);
    this.#isId = isId;
  }

  /** Remembers the secrets of a store, so that earlier lines can be redacted with the knowledge of later ones. */
  learnFrom(store: LineSource, until: number): void {
    const lines = this.lines(store, until);
    while (lines.next().done !== true);
  }

  /** The redacted bytes of a store, some lines at once. */
  *lines(store: LineSource, until: number): Generator<Buffer> {
    for (const lines of wholeLines(store, until)) {
      const redacted: Buffer[] = [];
      for (let start = 0, end = 0; start < lines.length; start = end) {
        end = lines.indexOf(NEWLINE, start) + 1 || lines.length;
        redacted.push(this.#line(lines.subarray(start, end)));
      }
      yield Buffer.concat(redacted);
    }
  }

  override field(name: string, value: string): string {
    const redacted = super.field(name, value);
    if (redacted !== value) this.#texts.set(value, redacted);
    return redacted;
  }

  #line(line: Buffer): Buffer {
    // Damaged bytes stay as they are.
    const encoding = isUtf8(line) ? "utf8" : "latin1";
    const text = line.toString(encoding);
    const redacted = this.#redacted(text);
    return redacted === text ? line : Buffer.from(redacted, encoding);
  }

  #redacted(line: string): string {
    const value = parsed(line);
    if (!isRecord(value)) return this.text(line);
    this.#texts.clear();
    // A line that was written otherwise can have a field twice, of which only one is parsed.
    if (this.value(value) === value && JSON.stringify(value) === line.trimEnd()) return line;
    const { count } = this;
    const kept = structureTexts(value);
    const redacted = withTexts(line, (text) =>
      kept.has(text) || this.#isId(text) ? text : (this.#texts.get(text) ?? this.text(text)),
    );
    this.count = count;
    return redacted;
  }
}

/** A line of JSON with other texts. One pattern for a whole text would need memory for each of its characters. */
function withTexts(line: string, change: (text: string) => string): string {
  const parts: string[] = [];
  let done = 0;
  let start = -1;
  for (const { 0: mark, index } of line.matchAll(/"|\\./g)) {
    if (mark !== '"') continue;
    if (start >= 0) {
      const literal = line.slice(start, index + 1);
      const text = JSON.parse(literal) as string;
      const changed = change(text);
      if (changed !== text) {
        parts.push(line.slice(done, start), changedLiteral(literal, text, changed));
        done = index + 1;
      }
    }
    start = start < 0 ? index : -1;
  }
  return [...parts, line.slice(done)].join("");
}

/** The literal of a redacted text. The characters that stay keep their escapes, as other programs write them. */
function changedLiteral(literal: string, text: string, redacted: string): string {
  if (JSON.stringify(text) === literal) return JSON.stringify(redacted);
  const characters = literal.slice(1, -1).match(/\\u[\da-f]{4}|\\.|./gis) ?? [];
  let at = 0;
  const parts = redacted.split(/(\[redacted: [\w ]+\])/).map((part) => {
    const found = text.indexOf(part, at);
    if (found < 0) return JSON.stringify(part).slice(1, -1);
    at = found + part.length;
    return characters.slice(found, at).join("");
  });
  return `"${parts.join("")}"`;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line.replace(/^\uFEFF/, ""));
  } catch {
    // A damaged line is text.
    return undefined;
  }
}

/** The fields of an entry, its message and the message's blocks that stay: a word for them elsewhere can be a password. */
const STRUCTURE = [
  ...["id", "parentId", "targetId", "fromId", "firstKeptEntryId", "type", "customType", "timestamp"],
  ...["role", "toolCallId", "toolName", "stopReason", "api", "provider", "model"],
];

function structureTexts(entry: Record<string, unknown>): ReadonlySet<unknown> {
  const { content } = isRecord(entry.message) ? entry.message : {};
  const parts = [entry, entry.message, ...(Array.isArray(content) ? content : [])].filter(isRecord);
  return new Set(parts.flatMap((part) => STRUCTURE.map((name) => part[name])));
}
