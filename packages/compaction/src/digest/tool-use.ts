import { type Command, commandOf } from "./command.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import type { Call } from "./transcript.ts";

/** A tool call by what it does, told from the shape of its arguments: tools have other names in every agent. */
export interface ToolUse {
  kind: "edit" | "write" | "read" | "command" | "todo" | "other";
  call: Call;
  outcome: Outcome;
  paths: string[];
  command?: Command;
}

const PATH_KEYS = [
  "path",
  "file_path",
  "filePath",
  "filename",
  "file",
  "target_file",
  "notebook_path",
  "absolute_path",
];
const EDIT_KEYS = [
  "oldText",
  "old_string",
  "oldString",
  "old_str",
  "edits",
  "newText",
  "new_string",
  "newString",
  "new_str",
  "diff",
  "patch",
  "insert_line",
  "new_source",
];
const WRITE_KEYS = ["content", "contents", "file_text", "text"];
const PATCH_FILE = /^\*\*\* (?:Update|Add|Delete) File: (.+)$/gm;

export function toolUseOf(call: Call): ToolUse {
  const command = commandText(call.args);
  const patched = patchedFiles(call.args, command);
  if (patched.length > 0) return use("edit", call, patched);
  if (command !== undefined) {
    const read = commandOf(command);
    return {
      kind: "command",
      call,
      outcome: outcomeOf(call, read),
      paths: [],
      ...(read && { command: read }),
    };
  }
  if (todoArguments(call.args) !== undefined) return use("todo", call, []);
  const path = PATH_KEYS.map((key) => call.args[key]).find(
    (value) => typeof value === "string" && value !== "",
  );
  if (typeof path !== "string") return use("other", call, []);
  if (EDIT_KEYS.some((key) => key in call.args)) return use("edit", call, [path]);
  if (WRITE_KEYS.some((key) => typeof call.args[key] === "string")) return use("write", call, [path]);
  return use("read", call, [path]);
}

function use(kind: ToolUse["kind"], call: Call, paths: string[]): ToolUse {
  return { kind, call, outcome: outcomeOf(call, undefined), paths };
}

function commandText(args: Record<string, unknown>): string | undefined {
  for (const key of ["command", "cmd", "script"]) {
    const value = args[key];
    if (typeof value === "string" && value.trim() !== "") return value;
    if (Array.isArray(value) && value.every((part) => typeof part === "string") && value.length > 0)
      return /^(?:ba|z)?sh$/.test(String(value[0])) && value.length === 3
        ? String(value[2])
        : value.join(" ");
  }
  return undefined;
}

function patchedFiles(args: Record<string, unknown>, command: string | undefined): string[] {
  const text = [args.input, args.patch, command].find(
    (value) => typeof value === "string" && value.includes("*** "),
  );
  return typeof text === "string" ? [...text.matchAll(PATCH_FILE)].map((match) => match[1]!.trim()) : [];
}

/** The list of a to-do or plan tool, whatever it calls its fields. */
export function todoArguments(
  args: Record<string, unknown>,
): Array<{ text: string; status: string }> | undefined {
  for (const key of ["todos", "plan", "items", "tasks", "todo", "todoList", "steps"]) {
    const list = args[key];
    if (!Array.isArray(list) || list.length === 0) continue;
    const items = list.map(todoOf).filter((item) => item !== undefined);
    if (items.length > 0) return items;
  }
  return undefined;
}

function todoOf(item: unknown): { text: string; status: string } | undefined {
  if (typeof item === "string") return { text: item, status: "pending" };
  if (typeof item !== "object" || item === null) return undefined;
  const fields = item as Record<string, unknown>;
  const text = ["content", "text", "step", "title", "task", "description", "name"]
    .map((key) => fields[key])
    .find((value) => typeof value === "string");
  if (typeof text !== "string" || text.trim() === "") return undefined;
  const done = fields.done === true || fields.completed === true;
  const status =
    typeof fields.status === "string"
      ? fields.status
      : typeof fields.state === "string"
        ? fields.state
        : "pending";
  return { text: text.trim(), status: done ? "completed" : status };
}
