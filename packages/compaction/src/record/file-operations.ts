import { isAbsolute, normalize, relative } from "node:path";
import {
  callsIn,
  contentText,
  isRecord,
  type Message,
  type ToolCall,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import { CALL_ARGUMENTS } from "@bonsai-agent/messages/host";
import { type ChangedLines, isChangedLines } from "@bonsai-agent/session";
import { writtenCommand } from "./commands.ts";
import { type Move, movedFile, moveOfTool, movesOf, removedFilesIn } from "./moved-files.ts";
import { ranCommand } from "./statements.ts";

/** The files that some messages touched, under their latest names; each most recently touched first. */
export interface FileOperations {
  read: string[];
  modified: string[];
}

/**
 * The files that tool calls of these messages read and modified, by the shape of their arguments. Failed calls do not
 * count. A sub-agent lists its files in the details of its result, even if it failed.
 */
export function fileOperations(messages: readonly Message[]): FileOperations {
  return new FileOperationCounter(messages).operations();
}

/** A call, or a result that lists files. */
interface Source {
  /** Place in the order of calls and results. In one message, the first call has the highest place. */
  place: number;
  entryId: string | undefined;
}

/** Files that a call touched. */
interface Touched extends FileOperations, Source {
  created: readonly string[];
  moves: readonly Move[];
  /** The shell command of the call. */
  command: string;
  /** Lines by file, as the arguments show them. */
  lines: readonly ChangedLines[];
}

/** The last touch of each file: its source, and the index of the file in it. */
type LastTouches = Map<string, Source & { index: number }>;

/**
 * Collects file operations like `fileOperations`, message by message, oldest first, and counts changed lines. Keeps the
 * names of files, but no message. The first result of a call decides whether it failed.
 */
export class FileOperationCounter {
  /** Without failed calls and calls without a result. */
  readonly #read: LastTouches = new Map();
  readonly #modified: LastTouches = new Map();
  readonly #created = new Set<string>();
  /** Calls without a result, by id. */
  readonly #openCalls = new Map<string, Touched>();
  #placeCount = 0;
  readonly #moves: Move[] = [];
  /** By file, the last changed one at the end. */
  readonly #lines = new Map<string, ChangedLines>();

  constructor(messages: Iterable<Message> = []) {
    for (const message of messages) this.add(message);
  }

  /** @param entryId the entry of the message, for `entries` */
  add(message: Message, entryId?: string): void {
    if (message?.role === "toolResult") this.#addResult(message, entryId);
    if (message?.role === "bashExecution") this.#addCommand(ranCommand(message), entryId);
    const calls = callsIn(message);
    this.#placeCount += calls.length;
    calls.forEach((call, at) => {
      this.#done(this.#openCalls.get(call.id));
      this.#openCalls.set(call.id, touchedBy(call, { place: this.#placeCount - at, entryId }));
    });
  }

  operations(): FileOperations {
    const { read, modified } = this.#latest();
    return { read: read.map(([file]) => file), modified: modified.map(([file]) => file) };
  }

  /** The entries that changed each modified file last, and read each read file last. Only files with a known entry. */
  entries(): ReadonlyMap<string, string> {
    const { read, modified } = this.#latest();
    const entries = new Map<string, string>();
    for (const [file, { entryId }] of [...read, ...modified])
      if (entryId !== undefined) entries.set(file, entryId);
    return entries;
  }

  /** The renamed and deleted files, oldest first. */
  moves(): readonly Move[] {
    return this.#moves;
  }

  /** The name of an earlier file after these messages. Undefined if they deleted it. */
  renamed(file: string): string | undefined {
    return movedFile(file, this.#moves, (folder) => this.#hasFiles(folder));
  }

  /** New files among the modified ones, if a call or its result shows that they are new. */
  created(): string[] {
    const open = [...this.#openCalls.values()].flatMap(({ created }) => created);
    return [...new Set([...this.#created, ...open])];
  }

  /**
   * The files that finished edits and writes changed, the last changed one at the end. A tool's own counts come before
   * those of its arguments. Commands do not count.
   */
  changedLines(cwd: string): ChangedLines[] {
    const byPath = new Map<string, ChangedLines>();
    for (const change of this.#lines.values())
      addLines(byPath, { ...change, path: projectPath(change.path, cwd) });
    return [...byPath.values()];
  }

  /** Adds a change that was counted before. */
  addLines(change: ChangedLines): void {
    addLines(this.#lines, change);
  }

  /** Counts calls without a result as done. */
  #latest() {
    const [read, modified] = [new Map(this.#read), new Map(this.#modified)];
    for (const call of this.#openCalls.values()) {
      noteTouches(read, call.read, call);
      noteTouches(modified, call.modified, call);
    }
    for (const file of modified.keys()) read.delete(file);
    return { read: newestFirst(read), modified: newestFirst(modified) };
  }

  /** Notes the end of a call, and the files that a sub-agent lists in its result. */
  #addResult(result: ToolResultMessage, entryId: string | undefined): void {
    const details = isRecord(result.details) ? result.details : {};
    const call = this.#openCalls.get(result.toolCallId);
    this.#openCalls.delete(result.toolCallId);
    if (call !== undefined && details.created === true) call.created = call.modified;
    if (!result.isError) this.#done(call);
    else if (call !== undefined) this.#move(movesOf(call.command, contentText(result.content)), call);
    for (const change of changesBy(result, details, call)) this.addLines(change);
    this.#placeCount += 1;
    const source = { place: this.#placeCount, entryId };
    this.#move(removedFilesIn(details), source);
    noteTouches(this.#read, texts(details.readFiles), source);
    noteTouches(this.#modified, texts(details.modifiedFiles), source);
  }

  /** Notes the files of a call that did not fail. */
  #done(touched: Touched | undefined): void {
    if (touched === undefined) return;
    noteTouches(this.#read, touched.read, touched);
    noteTouches(this.#modified, touched.modified, touched);
    for (const file of touched.created) this.#created.add(file);
    this.#move(touched.moves, touched);
  }

  /** Notes the moves of a command that the user ran. */
  #addCommand({ command, exitCode }: ReturnType<typeof ranCommand>, entryId: string | undefined): void {
    this.#placeCount += 1;
    if (exitCode === 0) this.#move(movesOf(command), { place: this.#placeCount, entryId });
  }

  #move(moves: readonly Move[], { place, entryId }: Source): void {
    for (const move of moves) {
      this.#moves.push(move);
      for (const last of [this.#read, this.#modified])
        for (const [file, touch] of [...last]) {
          const name = movedFile(file, [move], (folder) => this.#hasFiles(folder));
          if (name === file) continue;
          last.delete(file);
          if (name !== undefined) noteTouches(last, [name], touch);
        }
      // A new name with an extension is a file, not a folder.
      if (move.to !== undefined && /\w\.\w{1,8}$/.test(move.to) && !this.#hasEnding(move.to))
        noteTouches(this.#modified, [move.to], { place, entryId });
    }
  }

  #files(): string[] {
    return [...this.#read.keys(), ...this.#modified.keys()];
  }

  #hasFiles(folder: string): boolean {
    return this.#files().some((file) => file.startsWith(folder));
  }

  /** True if the file was modified. The name may be absolute. */
  #hasEnding(name: string): boolean {
    return [...this.#modified.keys()].some((file) => file === name || file.endsWith(`/${name}`));
  }
}

function noteTouches(last: LastTouches, files: readonly string[], { place, entryId }: Source): void {
  files.forEach((file, index) => {
    if ((last.get(file)?.place ?? 0) < place) last.set(file, { place, entryId, index });
  });
}

function newestFirst(touches: LastTouches): [file: string, source: Source][] {
  return [...touches].sort(([, one], [, other]) => other.place - one.place || one.index - other.index);
}

function addLines(byPath: Map<string, ChangedLines>, { path, added, removed }: ChangedLines): void {
  const known = byPath.get(path) ?? { added: 0, removed: 0 };
  byPath.delete(path);
  byPath.set(path, { path, added: known.added + added, removed: known.removed + removed });
}

function changesBy(
  { isError }: ToolResultMessage,
  details: Record<string, unknown>,
  call: Touched | undefined,
): readonly ChangedLines[] {
  // A failed sub-agent may have changed files before.
  if (Array.isArray(details.changedFiles)) return details.changedFiles.filter(isChangedLines);
  if (isError) return [];
  const counted = { ...details, path: details.path ?? call?.modified[0] ?? call?.read[0] };
  if (!isChangedLines(counted)) return call?.lines ?? [];
  const isUnchanged = counted.added + counted.removed === 0 && details.created !== true;
  return isUnchanged ? [] : [counted];
}

function projectPath(path: string, cwd: string): string {
  const inside = isAbsolute(path) ? relative(cwd, path) : normalize(path);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside.replaceAll("\\", "/");
}

function touchedBy(call: ToolCall, source: Source): Touched {
  const args = call.arguments ?? {};
  const command = String(writtenCommand(args) ?? "");
  const patches = patchTexts(args).flatMap(patchedFiles);
  const isChange =
    changeNames.test(call.name) || CALL_ARGUMENTS.change.some((key) => args[key] !== undefined);
  const modified = [
    ...(isChange ? namedFiles(args) : []),
    ...patches.flatMap(({ paths }) => paths),
    ...redirectedFiles(command),
  ];
  const moves = [
    ...movesOf(command),
    ...moveOfTool(call.name, args),
    ...patches.flatMap((patch) => patch.moves),
  ];
  return {
    read: isChange || listsOrRuns(call) ? [] : namedFiles(args),
    moves,
    command,
    modified,
    created: patches.flatMap(({ paths, isNew }) => (isNew ? paths.slice(0, 1) : [])),
    lines: patches.length > 0 ? patches.map(linesOfPatch) : replacedLines(args, modified[0]),
    ...source,
  };
}

const changeNames =
  /^(?:write|edit|create|update|patch|apply|replace|insert|delete|remove|move|rename|multi_?edit|notebook_?edit|str_replace)/i;
const listNames = /^(?:ls|list|find|glob|grep|search|tree|view_directory|read_directory)/i;

/** True for calls whose path is a folder to search, or that run a command. */
function listsOrRuns({ name, arguments: args = {} }: ToolCall): boolean {
  return listNames.test(name) || [...CALL_ARGUMENTS.search, "command"].some((key) => args[key] !== undefined);
}

type Arguments = Readonly<Record<string, unknown>>;

function namedFiles(args: Arguments): string[] {
  const lists = [...CALL_ARGUMENTS.pathList, "edits"].map((key) => args[key]).filter(Array.isArray);
  const values: unknown[] = [...CALL_ARGUMENTS.path.map((key) => args[key]), ...lists.flat()];
  return values
    .map((value) => (isRecord(value) ? textOf(value, CALL_ARGUMENTS.path) : value))
    .filter((path) => typeof path === "string")
    .filter((path) => path.trim() !== "" && !path.includes("\n"));
}

/** The first of these arguments that is a text. */
function textOf(args: Arguments, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = args[key];
    if (typeof value === "string") return value;
  }
  return undefined;
}

const oldKeys = ["oldText", "old_string", "oldString", "old_str", "oldStr"];
const newKeys = [
  ...["newText", "new_string", "newString", "new_str", "newStr", "replacement", "new_source"],
  ...["content", "contents", "file_text", "fileText", "insert_text", "code_edit"],
];
const patchKeys = ["patch", "diff", "input", "patchText", "patch_text", "command"];

/** Counts the lines of an edit or write, by its arguments. Empty for other calls. */
function replacedLines(args: Arguments, file: string | undefined): ChangedLines[] {
  if (file === undefined) return [];
  const edits = Array.isArray(args.edits) ? args.edits.filter(isRecord) : [];
  return [args, ...edits].flatMap((edit) => {
    const [before, after] = [textOf(edit, oldKeys), textOf(edit, newKeys)];
    if (before === undefined && after === undefined) return [];
    const path = textOf(edit, CALL_ARGUMENTS.path) ?? file;
    return [{ path, ...difference(linesOf(before ?? ""), linesOf(after ?? "")) }];
  });
}

/** Excludes the lines that both begin or end with: an edit quotes them to say where. */
function difference(before: readonly string[], after: readonly string[]): Omit<ChangedLines, "path"> {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return { added: after.length - head - tail, removed: before.length - head - tail };
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** Texts that can contain a patch: an argument of its own, or a command such as `["apply_patch", "…"]`. */
function patchTexts(args: Arguments): string[] {
  return patchKeys.flatMap((key) => args[key] ?? []).filter((text) => typeof text === "string");
}

/** A file of a patch. */
interface PatchedFile extends Omit<ChangedLines, "path"> {
  /** Its name; for a moved file, the old and the new one. */
  paths: string[];
  isNew: boolean;
  moves: Move[];
}

function linesOfPatch({ paths, added, removed }: PatchedFile): ChangedLines {
  return { path: paths.at(-1)!, added, removed };
}

const isPatch = /^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )|^--- .+\n\+\+\+ /m;

/** The files that a patch names: the `*** Update File:` form, or a unified diff. */
export function patchedFiles(text: string): PatchedFile[] {
  const files: PatchedFile[] = [];
  const lines = isPatch.test(text) ? text.split("\n") : [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const next = lines[at + 1] ?? "";
    const file = files.at(-1);
    const [, change, name = ""] = /^\*\*\* (Add|Update|Delete|Move)(?: File| to): (.+)/.exec(line) ?? [];
    if (change === "Move" && file !== undefined) {
      file.moves.push({ from: file.paths[0]!, to: name.trim() });
      file.paths.push(name.trim());
    } else if (change !== undefined) {
      const moves = change === "Delete" ? [{ from: name.trim() }] : [];
      files.push({ paths: [name.trim()], isNew: change === "Add", moves, added: 0, removed: 0 });
    } else if (line.startsWith("--- ") && next.startsWith("+++ ")) {
      const [before, after] = [nameIn(line), nameIn(next)];
      const paths = [...new Set([before, after])].filter((path) => path !== "/dev/null" && path !== "");
      const [from = "", to] = paths;
      const moves = after === "/dev/null" ? [{ from }] : to === undefined ? [] : [{ from, to }];
      if (paths.length > 0) files.push({ paths, isNew: before === "/dev/null", moves, added: 0, removed: 0 });
      at += 1;
    } else if (line.startsWith("+") && file !== undefined) file.added += 1;
    else if (line.startsWith("-") && file !== undefined) file.removed += 1;
  }
  return files;
}

/** The name in a head line of a unified diff. */
function nameIn(head: string): string {
  return head
    .slice(4)
    .split("\t", 1)[0]!
    .replace(/^[ab]\//, "")
    .trim();
}

/**
 * The files that a shell command plainly writes with `>` or `>>`. Skips everything that only a shell can read
 * (variables, quotes, substitutions, bodies of here-documents): a missing file is better than a wrong one.
 */
export function redirectedFiles(command: string): string[] {
  const plain = command.includes("<<") ? (command.split("\n")[0] ?? "") : command;
  // An unclosed quote takes the rest, as in a shell, so the expression never scans a text twice.
  const unquoted = plain.replaceAll(/'[^']*'|"(?:\\[\s\S]|[^"\\])*(?:["\\]|$)/g, "''");
  return [...unquoted.matchAll(/(?:^|[^0-9&>=-])1?>>?\s*([\w./~-]+)/g)]
    .map((match) => match[1]!)
    .filter((file) => !file.startsWith("/dev/") && /[\w]/.test(file));
}

/** The texts of a list, without items of other types. */
export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
