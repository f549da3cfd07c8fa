import { isAbsolute, normalize, relative } from "node:path";
import { fileOperations } from "@bonsai-agent/compaction";
import {
  callsIn,
  isRecord,
  type Message,
  type ToolCall,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import { type ChangedLines, isChangedLines } from "@bonsai-agent/session";

/**
 * The files that the edits and writes among these messages changed, the one that was changed last at the end. What a
 * tool counted is taken; without it, the call's arguments are read. Failed calls and commands do not count.
 */
export function changedFiles(messages: readonly Message[], cwd: string): ChangedLines[] {
  const changes = new ChangedFiles(cwd);
  for (const message of messages) changes.read(message);
  return changes.list();
}

/** Sums up changes by file. */
export class ChangedFiles {
  readonly #cwd: string;
  readonly #byPath = new Map<string, ChangedLines>();
  /** Calls whose results have not been read. */
  readonly #calls = new Map<string, ToolCall>();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Adds what one message of a session changed; calls come before their results. */
  read(message: Message): void {
    for (const call of callsIn(message)) this.#calls.set(call.id, call);
    if (message?.role !== "toolResult") return;
    for (const change of changesBy(message, this.#calls.get(message.toolCallId)))
      this.add({ ...change, path: projectPath(change.path, this.#cwd) });
    this.#calls.delete(message.toolCallId);
  }

  add(change: ChangedLines): void {
    const { path } = change;
    const known = this.#byPath.get(path);
    // Taken out first, so that it stands at the end.
    this.#byPath.delete(path);
    this.#byPath.set(path, { path, ...lineSums(known === undefined ? [change] : [known, change]) });
  }

  /** The one that was changed last at the end. */
  list(): ChangedLines[] {
    return [...this.#byPath.values()];
  }
}

function changesBy(result: ToolResultMessage, call: ToolCall | undefined): ChangedLines[] {
  const details = isRecord(result.details) ? result.details : {};
  // A sub-agent that failed has changed what it has changed.
  if (Array.isArray(details.changedFiles)) return details.changedFiles.filter(isChangedLines);
  if (result.isError) return [];
  if (isCount(details.added) && isCount(details.removed)) return counted(details, call);
  return call === undefined ? [] : byArguments(call);
}

/** Reads the tool's own counts. Ignores a write that changed nothing. */
function counted(details: Record<string, unknown>, call: ToolCall | undefined): ChangedLines[] {
  const { added, removed, created, path = call?.arguments?.path } = details;
  if (typeof path !== "string" || (added === 0 && removed === 0 && created !== true)) return [];
  return [{ path, added: added as number, removed: removed as number }];
}

function byArguments(call: ToolCall): ChangedLines[] {
  // Commands are no edits; a patch that is run as a command is one.
  const { lines, patched } = linesByArguments(call);
  if (patched.length > 0) return patched;
  if (lines === undefined) return [];
  const message = { role: "assistant", content: [call] } as unknown as Message;
  const [path] = fileOperations([message]).modified;
  return path === undefined ? [] : [{ path, ...lines }];
}

function projectPath(path: string, cwd: string): string {
  const inside = isAbsolute(path) ? relative(cwd, path) : normalize(path);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside.replaceAll("\\", "/");
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

type LineChanges = Omit<ChangedLines, "path">;

export function lineSums(changes: readonly LineChanges[]): LineChanges {
  const sum = (of: keyof LineChanges) => changes.reduce((all, change) => all + change[of], 0);
  return { added: sum("added"), removed: sum("removed") };
}

/** The lines that a call changes, by its arguments. */
interface ArgumentLines {
  /** Undefined for a call that is neither an edit nor a write. */
  lines: LineChanges | undefined;
  /** By file, for a patch. */
  patched: ChangedLines[];
}

const oldKeys = ["oldText", "old_string", "oldString", "old_str", "oldStr"];
const newKeys = ["newText", "new_string", "newString", "new_str", "newStr", "replacement", "new_source"];
const contentKeys = ["content", "contents", "file_text", "fileText", "insert_text", "code_edit"];
const patchKeys = ["patch", "diff", "input", "patchText", "patch_text"];

/** Counts by the shapes that edit, write and patch tools have, whatever they are called. */
function linesByArguments({ arguments: args = {} }: ToolCall): ArgumentLines {
  const patched = patchTexts(args).flatMap(patchLines);
  const edits = Array.isArray(args.edits) ? args.edits.filter(isRecord) : [];
  const changes = [args, ...edits].map(replaced).filter((change) => change !== undefined);
  return { patched, lines: changes.length === 0 ? undefined : lineSums(changes) };
}

/** A text in the place of another, or a text alone. */
function replaced(args: Record<string, unknown>): LineChanges | undefined {
  const before = textOf(args, oldKeys);
  const after = textOf(args, newKeys) ?? textOf(args, contentKeys);
  if (before === undefined && after === undefined) return undefined;
  return difference(linesOf(before ?? ""), linesOf(after ?? ""));
}

/** Without the lines that both begin or end with: an edit quotes them to say where. */
function difference(before: readonly string[], after: readonly string[]): LineChanges {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  return { added: after.length - head - tail, removed: before.length - head - tail };
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Finds patches in an argument of their own, or in a command such as `["apply_patch", "…"]`. */
function patchTexts(args: Record<string, unknown>): string[] {
  const command = Array.isArray(args.command) ? args.command : [args.command];
  const texts = [...patchKeys.map((key) => args[key]), ...command];
  return texts.filter((text) => typeof text === "string").filter((text) => isPatch.test(text));
}

const isPatch = /^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )|^--- .+\n\+\+\+ /m;
const fileLine = /^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)([^\t\n]+)/;
const deletedFile = /^--- (?:a\/)?([^\t\n]+)/;

function patchLines(text: string): ChangedLines[] {
  const files: ChangedLines[] = [];
  let deleted = "";
  for (const line of text.split("\n")) {
    const path = fileLine.exec(line)?.[1]?.trim();
    const file = files.at(-1);
    if (path !== undefined) files.push({ path: path === "/dev/null" ? deleted : path, added: 0, removed: 0 });
    else if (deletedFile.test(line)) deleted = deletedFile.exec(line)![1]!.trim();
    else if (line.startsWith("+") && file !== undefined) file.added += 1;
    else if (line.startsWith("-") && file !== undefined) file.removed += 1;
  }
  return files.filter(({ path }) => path !== "");
}

function textOf(args: Record<string, unknown>, keys: readonly string[]): string | undefined {
  const value = keys.map((key) => args[key]).find((text) => typeof text === "string");
  return value as string | undefined;
}
