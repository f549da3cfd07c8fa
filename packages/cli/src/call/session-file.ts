import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome, findSession, openSession, type Session } from "@bonsai-agent/session";
import { NewFile } from "@bonsai-agent/session/host";
import { databaseUrl } from "./database.ts";
import type { Invocation } from "./invocation.ts";
import { type Notice, withReadingProgress } from "./output.ts";
import { absolutePath } from "./paths.ts";

export function openNamedSession(invocation: Invocation): Session {
  return openSessionFile(sessionFile(invocation), invocation);
}

/** Opens a session file. Notices go to stderr by default. */
export function openSessionFile(
  file: string,
  { io, output }: Pick<Invocation, "io" | "output">,
  onNotice: (notice: Notice) => void = (notice) => output.notify(notice),
): Session {
  return withReadingProgress(io, file, () => openSession(file, { onNotice }));
}

export function sessionFile(invocation: Invocation): string {
  const name = invocation.args[0]!;
  try {
    return sessionPath(name, invocation);
  } catch (error) {
    if (!BonsaiError.is(error) || error.code !== "session_not_found" || databaseUrl(invocation) === undefined)
      throw error;
    throw new BonsaiError({
      code: "session_not_found",
      message: error.message,
      hint: `This command reads files. \`bonsai session pull ${name}\` copies a shared session into a file.`,
      cause: error,
    });
  }
}

/** The folder of sessions: Bonsai's own, or that of `--session-dir`. */
export interface SessionPlace {
  home: string;
  folder?: string;
}

export function sessionPlace({ io, options }: Pick<Invocation, "io" | "options">): SessionPlace {
  const home = bonsaiHome(io.env);
  const { sessionDir } = options;
  if (typeof sessionDir !== "string") return { home };
  const folder = absolutePath(sessionDir, io.cwd);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== false) return { home, folder };
  throw new BonsaiError({
    code: "wrong_usage",
    message: `--session-dir ${JSON.stringify(sessionDir)} is not a folder.`,
    hint: "Give a folder. A missing folder is created.",
  });
}

/** The path of a session file, or of the recorded session with this id. */
export function sessionPath(name: string, call: Pick<Invocation, "io" | "options">): string {
  const { cwd } = call.io;
  const path = absolutePath(name, cwd);
  if (existsSync(path)) return path;
  return findSession({ session: name, cwd, ...sessionPlace(call) });
}

/** Finds an entry by its id, by the start of its id, or by its label. */
export function resolveEntryId(session: Session, id: string): string {
  const index = session.index();
  if (session.entry(id) !== undefined) return id;
  const matches: string[] = [];
  for (let number = 0; id !== "" && number < index.count; number += 1) {
    const found = index.id(number);
    if (found.startsWith(id) && session.entryAt(number) !== undefined) matches.push(found);
  }
  const found = matches.length > 0 ? matches : labelledEntries(session, id);
  if (found.length === 1) return found[0]!;
  throw found.length === 0 ? noEntry(id) : ambiguousEntry(id, found, matches.length > 0);
}

function labelledEntries(session: Session, label: string): string[] {
  const labelled = [...session.labels()].filter(([, each]) => each === label);
  return labelled.flatMap(([id]) => (session.entry(id) === undefined ? [] : [id]));
}

/** The entry of `--leaf`, else the current position. */
export function leafOf(session: Session, { options }: Invocation): string | null {
  return typeof options.leaf === "string" ? resolveEntryId(session, options.leaf) : session.leafId;
}

function noEntry(id: string): BonsaiError {
  return new BonsaiError({
    code: "entry_not_found",
    message: `No entry of this session has the label ${JSON.stringify(id)} or an id starting with it.`,
    hint: "Run `bonsai session tree FILE --all` to list the ids.",
  });
}

const listedMatches = 4;

function ambiguousEntry(name: string, matches: readonly string[], isId: boolean): BonsaiError {
  const more = matches.length > listedMatches ? ", …" : "";
  const what = isId ? `have an id starting with ${name}` : `have the label ${JSON.stringify(name)}`;
  return new BonsaiError({
    code: "entry_ambiguous",
    message: `${matches.length} entries ${what}: ${matches.slice(0, listedMatches).join(", ")}${more}.`,
    hint: isId ? "Give more characters of the id." : "Give one of their ids.",
  });
}

/**
 * The absolute path of an output file; undefined without one. @param name default: the value of `-o`
 * @throws BonsaiError `output_exists`, because the file could be a session
 */
export function outputFile({ options, io }: Invocation, name = options.output): string | undefined {
  if (typeof name !== "string") return undefined;
  const file = resolve(io.cwd, name);
  if (existsSync(file)) throw outputExists(file);
  return file;
}

export function outputExists(file: string): BonsaiError {
  return new BonsaiError({
    code: "output_exists",
    message: `${file} already exists and is not overwritten.`,
    hint: "Choose another name, or move the file away.",
  });
}

/** A pipe has no ending. */
const markdownEndings = ["", ".md", ".markdown", ".txt"];

/** A session that another machine can import. */
export const ARCHIVE_ENDING = ".bonsai";

const pageEndings = [".html", ".htm"];

/** @throws BonsaiError `export_format_unknown` */
export function exportFormat(file: string): "markdown" | "html" | "bonsai" {
  const name = basename(file);
  const [ending = ""] = /\.[^.]+$/.exec(name) ?? [];
  if (ending.toLowerCase() === ARCHIVE_ENDING) return "bonsai";
  if (pageEndings.includes(ending.toLowerCase())) return "html";
  // A number ends a version or a date.
  if (markdownEndings.includes(ending.toLowerCase()) || /^\.\d+$/.test(ending)) return "markdown";
  const stem = name.slice(0, -ending.length) || "session";
  throw new BonsaiError({
    code: "export_format_unknown",
    message: `Cannot export to ${name}: a session is exported as Markdown (.md), as a page (.html) or for another machine (.bonsai).`,
    hint: `Use ${stem}.md, ${stem}.html or ${stem}.bonsai.`,
  });
}

/** True for a file with the ending of an archive, or the start of a zip. */
export function isArchive(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  return path.toLowerCase().endsWith(ARCHIVE_ENDING) || startOf(path, ZIP_MARK.length) === ZIP_MARK;
}

const ZIP_MARK = "PK\x03\x04";

/** The first bytes of a file, as characters. */
export function startOf(path: string, bytes: number): string {
  const fd = openSync(path, "r");
  try {
    const start = Buffer.alloc(bytes);
    return start.toString("latin1", 0, readSync(fd, start));
  } finally {
    closeSync(fd);
  }
}

/** Writes a new file whole or not at all. @throws BonsaiError `output_exists` */
export function writeOutput(path: string, pieces: string | Iterable<string>): void {
  if (existsSync(path)) throw outputExists(path);
  const file = new NewFile(path, outputExists);
  try {
    const opened = openSync(file.temporaryPath, "wx", 0o600);
    try {
      for (const piece of typeof pieces === "string" ? [pieces] : pieces) writeFileSync(opened, piece);
    } finally {
      closeSync(opened);
    }
    file.publish();
  } finally {
    file.discard();
  }
}

export function trashFolder(home: string): string {
  return join(home, "trash");
}

/**
 * Moves a session to a folder of the same name in the trash. Overwrites nothing there.
 * @returns the file's new path
 */
export function moveToTrash(file: string, home: string): string {
  const folder = join(trashFolder(home), basename(dirname(file)));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stem = join(folder, basename(file, ".jsonl"));
  let to = `${stem}.jsonl`;
  for (let at = 1; existsSync(to) || existsSync(tasksFolder(to)); at += 1) to = `${stem}-${at}.jsonl`;
  moveSession(file, to);
  return to;
}

/** Moves a session file, and the sessions of its sub-agents. */
export function moveSession(from: string, to: string): void {
  renameSync(from, to);
  if (existsSync(tasksFolder(from))) renameSync(tasksFolder(from), tasksFolder(to));
}

/** The folder of the sessions of sub-agents. */
export function tasksFolder(file: string): string {
  return `${file.replace(/\.jsonl$/, "")}.tasks`;
}

/** The sessions of sub-agents. */
export function taskFiles(file: string | undefined): string[] {
  const folder = file === undefined ? "" : tasksFolder(file);
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => (/^[\w.-]+\.jsonl$/.test(name) ? [join(folder, name)] : []));
}
