import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import type { SessionNotice } from "./doctor/problems.ts";
import type { Entry, SessionHeader } from "./entry.ts";
import { LEAF_RECORD } from "./own-entries.ts";
import { EntryHead, parseLine } from "./read/entry-head.ts";
import type { SessionReader } from "./read/session-reader.ts";
import type { SessionWriter } from "./read/session-writer.ts";
import { entryLine } from "./read/sound-entry.ts";
import { LineAppender } from "./store/line-appender.ts";
import { forEachLine, type Line } from "./store/line-reader.ts";
import { LineWriter } from "./store/line-writer.ts";
import type { SessionStore } from "./store/store.ts";

const BATCH_CHARACTERS = 1 << 20;

/** A session whose file may have lost entries, and what is known of it. */
interface LostEntries {
  reader: SessionReader;
  writer: Pick<SessionWriter, "ownLines" | "make">;
  header: SessionHeader;
  /** What was read along the path, oldest first. */
  held: readonly Entry[];
  leafId: string | null;
  /** True where the store is known not to hold all that was appended. */
  isLost: boolean;
  notify: (notice: SessionNotice) => void;
}

/**
 * Keeps what was appended to a session in a file that can be found again, whatever happened to the one that it was in, and
 * notices what was done.
 * @returns whether the store was mended; `failed` where it has to be, and could not
 */
export function restoreLost(lost: LostEntries): "sound" | "mended" | "failed" {
  const { store } = lost.reader;
  if (!lost.isLost && !store.isGone?.()) return "sound";
  return restoringAlone(store.file, () => restore(lost));
}

function restore(lost: LostEntries): "sound" | "mended" | "failed" {
  const { reader, isLost, notify } = lost;
  const { store } = reader;
  const isAnew = restoreFile(lost);
  if (!isAnew && !isLost) return "sound";
  const { file } = store;
  try {
    const count = restoreEntries(lost);
    reader.forget();
    if (count === 0) return "mended";
    const entries = count === 1 ? "1 entry of this session was" : `${count} entries of this session were`;
    const where = store.file === file ? "there" : `to ${store.file}`;
    const message = `${file} was cut off or overwritten while it was open. ${entries} missing and restored ${where}.`;
    notify({ code: "entries_restored", message });
    return "mended";
  } catch (error) {
    const message = `Entries of this session are missing from ${file}. Restoring them failed: ${(error as Error).message}`;
    notify({ code: "entries_lost", message });
    return "failed";
  }
}

/** Goes on in a file that can be found again where that of the session was deleted or replaced. @returns true where it was */
function restoreFile({ reader: { store }, header, notify }: LostEntries): boolean {
  const { file } = store;
  const notifyDeleted = (message: string) =>
    notify({
      /** Another program deleted or replaced the open session file. The message says what was done. */
      code: "file_deleted",
      message: `${file} ${message}`,
    });
  try {
    const restored = store.restore?.(header.id) ?? false;
    if (restored === "written_anew")
      notifyDeleted(`was deleted while it was open. All entries were restored to ${store.file}.`);
    if (restored === "replaced")
      notifyDeleted(
        "was replaced by another version of this session while it was open. The session continues in the new version.",
      );
    return restored !== false;
  } catch (error) {
    notifyDeleted(`was deleted while it was open. Restoring it failed: ${(error as Error).message}`);
    return false;
  }
}

type EachLine = (visit: (line: string) => void) => void;

/**
 * Writes the entries again that are known and not in the file: behind what is there, where that begins with the
 * session's header; before it, where the header is lost; beside it, where it is another's.
 * @returns how many
 * @throws what the store throws; to try again later writes what is missing then.
 */
function restoreEntries(lost: LostEntries): number {
  const { header, writer, leafId } = lost;
  const { store } = lost.reader;
  const there = contentsOf(store, header.id);
  let count = 0;
  let last: string | undefined;
  const eachMissing: EachLine = (visit) =>
    eachKnown(lost, (line) => {
      const id = idOf(line);
      if (there.ids.has(id)) return;
      count += 1;
      last = id;
      visit(line);
    });
  if (there.start === "header" || there.start === "nothing") {
    const again = appendBatches(store, (visit) => {
      if (there.start === "nothing") visit(JSON.stringify(header));
      eachMissing(visit);
    });
    last = again ?? last;
  } else last = writeAnew({ store, header, there, eachMissing }) ?? last;
  if (count > 0 && last !== leafId && leafId !== null) {
    const [record] = writer.make([LEAF_RECORD], leafId);
    new LineAppender(store).append([JSON.stringify(record)]);
  }
  return count;
}

/** The lines of what was read along the path, and of what was appended: parents first. */
function eachKnown({ writer: { ownLines }, held }: LostEntries, visit: (line: string) => void): void {
  const own = new Set<string>();
  ownLines.each((line) => own.add(idOf(line)));
  for (const entry of held) if (!own.has(entry.id)) visit(entryLine(entry));
  ownLines.each(visit);
}

interface Contents {
  ids: Set<string>;
  /** How it begins: with the header of this session, with none, or as something else. */
  start: "nothing" | "header" | "no_header" | "another";
}

function contentsOf(store: SessionStore, sessionId: string): Contents {
  const contents: Contents = { ids: new Set(), start: "nothing" };
  const head = new EntryHead();
  forEachLine({
    store,
    from: 0,
    until: store.size(),
    visit(line) {
      const kind = head.read(line, store);
      if (kind === "blank") return;
      if (contents.start === "nothing") contents.start = startOf({ line, kind, sessionId, store });
      if (kind === "entry" && isWhole(line, { head, store })) contents.ids.add(head.id);
    },
  });
  return contents;
}

/** Parsed, not judged by its end: a line that lost its last brace ends with that of its message. */
function isWhole(line: Line, { head, store }: { head: EntryHead; store: SessionStore }): boolean {
  return !head.torn && parseLine(line, store) !== undefined;
}

function startOf(first: {
  line: Line;
  kind: string;
  sessionId: string;
  store: SessionStore;
}): Contents["start"] {
  const { line, kind, sessionId, store } = first;
  if (kind === "header")
    return (parseLine(line, store) as { id?: unknown }).id === sessionId ? "header" : "another";
  // A header that was cut off, zero bytes in the place of what was, or entries that followed it.
  const isOurs = kind === "entry" || kind === "nul_bytes" || line.bytes[line.start] === 0x7b;
  return isOurs ? "no_header" : "another";
}

/** @returns the id of the last line, where that is not the last that was visited but one that was written again */
function appendBatches(store: SessionStore, eachLine: EachLine): string | undefined {
  const appender = new LineAppender(store);
  let last: string | undefined;
  let batch: string[] = [];
  let characters = 0;
  const flush = () => {
    if (batch.length === 0) return;
    appender.look();
    last = appender.append(batch).length === 1 ? undefined : idOf(batch[0]!);
    batch = [];
    characters = 0;
  };
  eachLine((line) => {
    batch.push(line);
    characters += line.length;
    if (characters >= BATCH_CHARACTERS) flush();
  });
  flush();
  return last;
}

/** @returns the id of the last line, where that stood there before */
function writeAnew({
  store,
  header,
  there,
  eachMissing,
}: {
  store: SessionStore;
  header: SessionHeader;
  there: Contents;
  eachMissing: EachLine;
}): string | undefined {
  let last: string | undefined;
  store.rewrite?.({
    replace: there.start === "no_header",
    write(fd) {
      const writer = new LineWriter(fd, store);
      writer.write(JSON.stringify(header));
      eachMissing((line) => writer.write(line));
      if (there.start === "no_header") last = copyEntries(store, writer);
      writer.end();
    },
  });
  return last;
}

/** What is there and is an entry, byte for byte: what was cut off is known whole. @returns the id of the last one */
function copyEntries(store: SessionStore, writer: LineWriter): string | undefined {
  let last: string | undefined;
  const head = new EntryHead();
  forEachLine({
    store,
    from: 0,
    until: store.size(),
    visit(line) {
      if (head.read(line, store) !== "entry" || !isWhole(line, { head, store })) return;
      writer.copy({ ...line, line: line.number });
      last = head.id;
    },
  });
  return last;
}

function idOf(line: string): string {
  return (JSON.parse(line) as { id: string }).id;
}

/** Longer than a session of a day takes to be written again; nobody should wait longer for a key to be taken. */
const MOST_WAIT_MS = 2_000;
const STEP_MS = 5;
/** Whoever holds it for so long is gone, on whatever machine it was. */
const LEFT_BEHIND_MS = 60_000;

/**
 * Does work on a file that has lost entries while no other process does: two that write again what both know would write
 * it twice, and of two that put another file in its place, one would lose what it wrote. A file beside it says who is at
 * work; what a killed process left of that is cleared away.
 *
 * Where no such file can be made, or somebody takes too long, the work is done all the same: what is written twice does
 * less harm than what is lost.
 */
function restoringAlone<Value>(file: string | undefined, work: () => Value): Value {
  const lock = file === undefined ? undefined : `${file}.restoring`;
  const isHeld = lock !== undefined && take(lock);
  try {
    return work();
  } finally {
    if (isHeld) rmSync(lock, { force: true });
  }
}

function take(lock: string): boolean {
  for (let waitedMs = 0; ; waitedMs += STEP_MS) {
    try {
      writeFileSync(lock, `${process.pid} ${hostname()}`, { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || waitedMs >= MOST_WAIT_MS) return false;
    }
    if (isLeftBehind(lock)) rmSync(lock, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STEP_MS);
  }
}

function isLeftBehind(lock: string): boolean {
  try {
    const [, pid, host] = /^(\d+) (.*)$/.exec(readFileSync(lock, "utf8")) ?? [];
    if (host === hostname() && !isAlive(Number(pid))) return true;
    return Date.now() - statSync(lock).mtimeMs > LEFT_BEHIND_MS;
  } catch {
    // It was removed in this moment.
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, and another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
