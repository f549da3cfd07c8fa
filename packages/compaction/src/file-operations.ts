import { type Message, type ToolCall, toolCalls } from "@bonsai-agent/messages";
import { texts } from "./own-details.ts";
import { patchedFiles, redirectedFiles } from "./patched-files.ts";

/** The files that some messages touched; each most recently touched first. */
export interface FileOperations {
  read: string[];
  modified: string[];
}

const pathKeys = [
  "path",
  "file_path",
  "filePath",
  "filepath",
  "file",
  "filename",
  "fileName",
  "notebook_path",
  "target_file",
  "targetFile",
  "absolute_path",
  "absolutePath",
  "relative_path",
  "relativePath",
];
const pathListKeys = ["paths", "files", "file_paths", "filePaths"];
const changeKeys = [
  "content",
  "contents",
  "file_text",
  "fileText",
  "old_string",
  "oldString",
  "old_str",
  "oldText",
  "new_string",
  "newString",
  "new_str",
  "newText",
  "new_source",
  "insert_text",
  "replacement",
  "edits",
  "patch",
  "diff",
  "code_edit",
];
const patchKeys = ["patch", "diff", "input", "patchText", "patch_text"];
const searchKeys = ["pattern", "query", "regex", "glob", "include"];
const changeNames =
  /^(?:write|edit|create|update|patch|apply|replace|insert|delete|remove|move|rename|multi_?edit|notebook_?edit|str_replace)/i;
const listNames = /^(?:ls|list|find|glob|grep|search|tree|view_directory|read_directory)/i;

/**
 * The files that tool calls of these messages read and modified, by the shape of their arguments. Failed calls do not
 * count. A sub-agent tells its files in the details of its result, whether it got to its end or not.
 */
export function fileOperations(messages: readonly Message[]): FileOperations {
  const counter = new FileOperationCounter();
  for (const message of messages) counter.add(message);
  return counter.operations();
}

/** What one message, or one call of it, did; a call whose result is an error counts for nothing. */
interface Touched extends FileOperations {
  failed: boolean;
}

/** As `fileOperations`, of messages one after the other, oldest first: it holds the names of the files and no message. */
export class FileOperationCounter {
  /** By message, oldest first: those that touched nothing left out. */
  readonly #touched: Touched[][] = [];
  /** The latest call of each id. */
  readonly #calls = new Map<string, Touched>();

  add(message: Message): void {
    const told = {
      read: toldFiles(message, "readFiles"),
      modified: toldFiles(message, "modifiedFiles"),
      failed: false,
    };
    const touched = [told, ...toolCalls(message).map((call) => this.#called(call))];
    const failed = message.role === "toolResult" && message.isError;
    const call = failed ? this.#calls.get(message.toolCallId) : undefined;
    if (call !== undefined) call.failed = true;
    const some = touched.filter(({ read, modified }) => read.length + modified.length > 0);
    if (some.length > 0) this.#touched.push(some);
  }

  operations(): FileOperations {
    const read = new Set<string>();
    const modified = new Set<string>();
    for (let at = this.#touched.length - 1; at >= 0; at -= 1)
      for (const each of this.#touched[at]!) {
        if (each.failed) continue;
        for (const file of each.modified) modified.add(file);
        for (const file of each.read) read.add(file);
      }
    return { read: [...read].filter((file) => !modified.has(file)), modified: [...modified] };
  }

  #called(call: ToolCall): Touched {
    const touched = { read: readBy(call), modified: modifiedBy(call), failed: false };
    this.#calls.set(call.id, touched);
    return touched;
  }
}

function toldFiles(message: Message, list: "readFiles" | "modifiedFiles"): string[] {
  if (message?.role !== "toolResult" || typeof message.details !== "object" || message.details === null)
    return [];
  return texts((message.details as Record<string, unknown>)[list]);
}

function modifiedBy(call: ToolCall): string[] {
  const patched = patchTexts(call).flatMap(patchedFiles);
  const command = call.arguments?.command;
  const redirected = typeof command === "string" ? redirectedFiles(command) : [];
  return [...(isChange(call) ? namedFiles(call) : []), ...patched, ...redirected];
}

function readBy(call: ToolCall): string[] {
  const has = (key: string) => call.arguments?.[key] !== undefined;
  if (isChange(call) || listNames.test(call.name) || searchKeys.some(has) || has("command")) return [];
  return namedFiles(call);
}

function isChange(call: ToolCall): boolean {
  return changeNames.test(call.name) || changeKeys.some((key) => call.arguments?.[key] !== undefined);
}

function namedFiles(call: ToolCall): string[] {
  const args = call.arguments ?? {};
  const lists = pathListKeys.flatMap((key) => (Array.isArray(args[key]) ? (args[key] as unknown[]) : []));
  const edits = Array.isArray(args.edits) ? (args.edits as unknown[]) : [];
  const values = [...pathKeys.map((key) => args[key]), ...lists, ...edits];
  return values.map(pathOf).filter((path) => path !== undefined);
}

/** A path given as it is, or inside an object of a list. */
function pathOf(value: unknown): string | undefined {
  if (typeof value === "string") return value.trim() === "" || value.includes("\n") ? undefined : value;
  if (typeof value !== "object" || value === null) return undefined;
  const inner = pathKeys
    .map((key) => (value as Record<string, unknown>)[key])
    .find((path) => typeof path === "string");
  return inner as string | undefined;
}

/** Wherever a patch can stand: in an argument of its own, or in a command such as `["apply_patch", "…"]`. */
function patchTexts(call: ToolCall): string[] {
  const args = call.arguments ?? {};
  const command = Array.isArray(args.command) ? args.command : [args.command];
  return [...patchKeys.map((key) => args[key]), ...command].filter((text) => typeof text === "string");
}
