import type { ToolCall } from "@bonsai-agent/messages";

/** Lines that a change added and removed. */
export interface LineChanges {
  added: number;
  removed: number;
}

/** What the arguments of a call tell of the lines that it changes. */
export interface ArgumentLines {
  /** Undefined for a call that is neither an edit nor a write. */
  lines: LineChanges | undefined;
  /** By file, for a patch. */
  patched: (LineChanges & { path: string })[];
}

const oldKeys = ["oldText", "old_string", "oldString", "old_str", "oldStr"];
const newKeys = ["newText", "new_string", "newString", "new_str", "newStr", "replacement", "new_source"];
const contentKeys = ["content", "contents", "file_text", "fileText", "insert_text", "code_edit"];
const patchKeys = ["patch", "diff", "input", "patchText", "patch_text"];

/** Counts by the shapes that edit, write and patch tools have, whatever they are called. */
export function linesByArguments({ arguments: args = {} }: ToolCall): ArgumentLines {
  const patched = patchTexts(args).flatMap(patchLines);
  const edits = Array.isArray(args.edits) ? args.edits.filter(isRecord) : [];
  const changes = [args, ...edits].map(replaced).filter((change) => change !== undefined);
  return { patched, lines: changes.length === 0 ? undefined : sum(changes) };
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

function sum(changes: readonly LineChanges[]): LineChanges {
  return changes.reduce((all, { added, removed }) => ({
    added: all.added + added,
    removed: all.removed + removed,
  }));
}

/** Where a patch can stand: in an argument of its own, or in a command such as `["apply_patch", "…"]`. */
function patchTexts(args: Record<string, unknown>): string[] {
  const command = Array.isArray(args.command) ? args.command : [args.command];
  const texts = [...patchKeys.map((key) => args[key]), ...command];
  return texts.filter((text) => typeof text === "string").filter((text) => isPatch.test(text));
}

const isPatch = /^\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File: )|^--- .+\n\+\+\+ /m;
const fileLine = /^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)([^\t\n]+)/;
const deletedFile = /^--- (?:a\/)?([^\t\n]+)/;

function patchLines(text: string): (LineChanges & { path: string })[] {
  const files: (LineChanges & { path: string })[] = [];
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
