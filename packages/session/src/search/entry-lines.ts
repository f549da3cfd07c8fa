import { isRecord, SecretFilter } from "@bonsai-agent/messages";
import type { Entry } from "../entry.ts";
import { entryTexts } from "../entry-types.ts";
import { EntryHead, parseLine } from "../read/entry-head.ts";
import { chainedId, unnamedId } from "../read/entry-index.ts";
import { gluedEntries } from "../read/glued-entries.ts";
import { entryFrom } from "../read/sound-entry.ts";
import { forEachLine, type Line, type LineSource, WINDOW_BYTES } from "../store/line-reader.ts";

/** How far a session file was read: up to the beginning of a line. */
export interface FilePosition {
  offset: number;
  /** Number of the line that begins there, from 1. */
  line: number;
  /** Lines before it that are not blank. */
  written: number;
}

export const FILE_START: FilePosition = { offset: 0, line: 1, written: 0 };

/** A line that holds an entry, before it is parsed; valid until the next one. */
export interface EntryLine {
  entryId: string;
  line: Line;
  /** Undefined where the line turns out to hold none. */
  entry(): Entry | undefined;
}

/** Reads the entries of a session file from any position on, damaged lines left out, with the ids that the session knows them by. */
export class EntryLines {
  readonly #source: LineSource;
  readonly #version: number;
  readonly #head = new EntryHead();
  readonly #window = Buffer.allocUnsafeSlow(WINDOW_BYTES);

  constructor({ source, version }: { source: LineSource; version: number }) {
    this.#source = source;
    this.#version = version;
  }

  /**
   * Visits the entries from a position up to a byte.
   * @param lastLine whether a last line without its newline is one too
   * @returns the position behind the last line that ended; the one given where none did
   */
  read({
    from,
    until,
    lastLine,
    visit,
  }: {
    from: FilePosition;
    until: number;
    lastLine: boolean;
    visit: (line: EntryLine) => void;
  }): FilePosition {
    const position = { ...from };
    forEachLine({
      store: this.#source,
      window: this.#window,
      from: from.offset,
      until,
      firstNumber: from.line,
      visit: (line) => {
        if (!line.ended && !lastLine) return;
        const kind = this.#head.read(line, this.#source);
        const glued = gluedEntries(line, { kind, head: this.#head, store: this.#source });
        if (glued !== undefined) for (const part of glued) visit(this.#gluedLine(part, position));
        else if ((kind === "entry" || kind === "no_id") && !this.#head.torn)
          visit(this.#entryLine(line, kind, position));
        if (kind !== "blank") position.written += 1;
        if (!line.ended) return;
        position.offset = line.offset + line.lengthBytes + 1;
        position.line = line.number + 1;
      },
    });
    return position;
  }

  #gluedLine(part: Line, position: FilePosition): EntryLine {
    this.#head.read(part, this.#source);
    return this.#entryLine(part, "entry", position);
  }

  /** Ids as the session's own index gives them. */
  #entryLine(line: Line, kind: "entry" | "no_id", { written }: FilePosition): EntryLine {
    const head = this.#head;
    const isChained = this.#version === 1 && (kind === "no_id" || (head.parentStart < 0 && !head.isRoot));
    const entryId = isChained ? chainedId(written) : kind === "no_id" ? unnamedId(line.number) : head.id;
    return { entryId, line, entry: () => parsedEntry(parseLine(line, this.#source), entryId, this.#version) };
  }
}

/** The entry of a line's value; its place in the tree is left open. */
export function parsedEntry(value: unknown, id: string, version: number): Entry | undefined {
  const parentId = isRecord(value) && typeof value.parentId === "string" ? value.parentId : null;
  return entryFrom(value, { id, parentId, version });
}

/** Facts about an entry that a search shows beside its text. */
export interface EntryFacts {
  type: Entry["type"];
  /** Only for a message. */
  role?: string;
  /** Milliseconds since the epoch. */
  timeMs: number;
  texts: readonly string[];
}

/** The index and the snippets have no secrets. */
export function entryFacts(entry: Entry, showSecrets = false): EntryFacts {
  const { role } = entry.type === "message" ? (entry.message as { role?: unknown }) : { role: undefined };
  return {
    type: entry.type,
    ...(typeof role === "string" ? { role } : {}),
    timeMs: Date.parse(entry.timestamp) || 0,
    texts: new SecretFilter([], !showSecrets).values([...entryTexts(entry)]),
  };
}
