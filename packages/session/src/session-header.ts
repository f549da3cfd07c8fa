import { BonsaiError } from "@bonsai-agent/messages";
import { SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { EntryHead, parseBytes } from "./entry-head.ts";
import { forEachLine, readBytes } from "./line-reader.ts";
import type { SessionStore } from "./session-store.ts";

/** A header hardly ever is longer. */
const HEADER_BYTES = 1 << 12;
/** A file whose header is not found there is looked at this far, also for entries. */
const LOOK_BYTES = 1 << 20;

export interface HeaderReading {
  readonly header: SessionHeader;
  /** 1, 2 or 3; a future version as it stands. */
  readonly version: number;
  /** False where the header line is missing or damaged, and the header was made up. */
  readonly sound: boolean;
}

/**
 * Reads the first line.
 * @throws BonsaiError `session_empty`, `not_a_session`.
 */
export function readHeader(store: SessionStore): HeaderReading {
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
  const value = first.kind === "header" ? (parseBytes(first.bytes) as Record<string, unknown>) : undefined;
  if (value !== undefined) return { header: completed(value), version: versionOf(value), sound: true };
  const entry = lines.find((line) => line.kind === "entry");
  if (entry === undefined) throw notASession(store, first.bytes);
  return { header: completed({ version: SESSION_VERSION }), version: SESSION_VERSION, sound: false };
}

function firstLines(store: SessionStore, lookBytes: number): Array<{ kind: string; bytes: Buffer }> {
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

function completed(value: Record<string, unknown>): SessionHeader {
  const text = (field: unknown) => (typeof field === "string" ? field : "");
  return {
    ...value,
    type: "session",
    id: text(value.id) || "unknown",
    timestamp: text(value.timestamp),
    cwd: text(value.cwd),
  };
}

function versionOf(value: Record<string, unknown>): number {
  if (value.version === undefined || value.version === null) return 1;
  const version = Number(value.version);
  return Number.isInteger(version) && version >= 1 ? version : Number.POSITIVE_INFINITY;
}

function notASession(store: SessionStore, first: Buffer): BonsaiError {
  const start = first
    .subarray(0, 40)
    .toString("latin1")
    .replaceAll(/[^ -~]/g, "?");
  return new BonsaiError({
    code: "not_a_session",
    message: `${nameOf(store)} is no session: it starts with "${start}", not with a session header.`,
    hint: "Give the path of a session file (JSON lines, the first of type session). The file was left as it is.",
  });
}

function nameOf(store: SessionStore): string {
  return store.file ?? "The session";
}
