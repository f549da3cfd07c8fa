import { BonsaiError } from "@bonsai-agent/messages";
import { SESSION_VERSION, type SessionHeader } from "../entry.ts";
import { forEachLine, readBytes } from "../store/line-reader.ts";
import type { SessionStore } from "../store/store.ts";
import { EntryHead, parseBytes } from "./entry-head.ts";
import { type Fields, mendFields } from "./sound-entry.ts";

/** A header hardly ever is longer. */
const HEADER_BYTES = 1 << 12;
/** A file whose header is not found there is looked at this far, also for entries. */
const LOOK_BYTES = 1 << 20;

export interface HeaderReading {
  readonly header: SessionHeader;
  /** 1, 2 or 3, or the number of a future version. */
  readonly version: number;
  /** Why the header cannot be trusted. Its missing values are then guesses. Undefined for a sound one. */
  readonly damage: string | undefined;
  /** Names of the fields that had an invalid value. */
  readonly invalidFields: readonly string[];
}

/** The source of a header: a store, or a file that is only read. */
type HeaderSource = Pick<SessionStore, "file" | "read" | "size">;

/**
 * Reads the first line.
 * @throws BonsaiError `session_empty`, `not_a_session`.
 */
export function readHeader(store: HeaderSource): HeaderReading {
  let lines = firstLines(store, HEADER_BYTES);
  if (lines[0]?.kind !== "header") lines = firstLines(store, LOOK_BYTES);
  const first = lines[0];
  if (first === undefined) {
    throw new BonsaiError({
      code: "session_empty",
      message: `${nameOf(store)} is empty: it has no session header.`,
      hint: "Give the path of a session file, or start a new session.",
    });
  }
  const value = first.kind === "header" ? (parseBytes(first.bytes) as Fields) : undefined;
  if (value !== undefined) return headerReading(value);
  const entry = lines.find((line) => line.kind === "entry");
  if (entry === undefined) throw notASession(store, first.bytes);
  const { header, version } = headerReading({ type: "session", version: SESSION_VERSION });
  return { header, version, damage: "The first line is not a session header", invalidFields: [] };
}

function headerReading(value: Fields): HeaderReading {
  const invalidFields: string[] = [];
  const named = typeof value.version === "object" ? JSON.stringify(value.version) : value.version;
  const version = versionOf(value.version);
  const damage = version === undefined ? `The header has the impossible format version ${named}` : undefined;
  // Nothing is known about an impossible version: today's is the best guess.
  if (version === undefined) value.version = SESSION_VERSION;
  mendFields(value, HEADER_FIELDS, { invalidFields });
  return {
    header: value as unknown as SessionHeader,
    version: version ?? SESSION_VERSION,
    damage,
    invalidFields,
  };
}

const HEADER_FIELDS = { id: "id", timestamp: "time", cwd: "text", parentSession: "text?" } as const;

function firstLines(store: HeaderSource, lookBytes: number): Array<{ kind: string; bytes: Buffer }> {
  const lines: Array<{ kind: string; bytes: Buffer }> = [];
  const head = new EntryHead();
  forEachLine({
    store,
    from: 0,
    until: Math.min(lookBytes, store.size()),
    visit: (line) => {
      // One header is all that is wanted; entries count only where it is missing.
      if (lines[0]?.kind === "header") return;
      const kind = head.read(line, store);
      if (kind !== "blank") lines.push({ kind, bytes: readBytes(store, line) });
    },
  });
  return lines;
}

/** Undefined for what no version can be. */
function versionOf(version: unknown): number | undefined {
  if (version === undefined || version === null) return 1;
  return Number.isSafeInteger(version) && (version as number) >= 1 ? (version as number) : undefined;
}

function notASession(store: HeaderSource, first: Buffer): BonsaiError {
  const start = first
    .subarray(0, 40)
    .toString("latin1")
    .replaceAll(/[^ -~]/g, "?");
  return new BonsaiError({
    code: "not_a_session",
    message: `${nameOf(store)} is not a session: it starts with "${start}", not with a session header.`,
    hint: "Give the path of a session file. To import another agent's transcript, run `bonsai session import FILE`. The file was not changed.",
  });
}

function nameOf(store: HeaderSource): string {
  return store.file ?? "The session";
}
