import { chmodSync, copyFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { writeWholeFile } from "@bonsai-agent/models/host";
import {
  applyEdits,
  type Edit,
  findNodeAtLocation,
  modify,
  type Node,
  type ParseError,
  parse,
  parseTree,
} from "jsonc-parser";
import { type Line, span } from "../views/line.ts";
import { printable } from "../views/terminal-text.ts";
import { wrongUsage } from "./failure.ts";
import type { Invocation } from "./invocation.ts";
import { confirmed } from "./terminal-ui.ts";

/** A change of another agent's configuration file. */
export interface ConfigChange {
  file: string;
  /** Undefined if the file does not exist yet. */
  before: string | undefined;
  after: string;
}

export type ConfigOutcome = "written" | "unchanged" | "declined";

/**
 * Shows a change, asks the user unless `--yes` is set, keeps the former file beside the new one, and writes.
 * @throws BonsaiError `wrong_usage` without `--yes` and without a terminal
 */
export async function applyConfigChange(
  invocation: Invocation,
  change: ConfigChange,
): Promise<ConfigOutcome> {
  const { file, before, after } = change;
  if (before === after) return "unchanged";
  invocation.output.question(...changeLines(change));
  const refusal = () =>
    wrongUsage(
      `${file} was not changed: there is no terminal to ask on.`,
      "Add --yes to write without asking.",
    );
  if (invocation.options.yes !== true && !(await confirmed(invocation, `Write ${file}?`, refusal)))
    return "declined";
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (before !== undefined) copyFileSync(file, backupFile(file));
  writeWholeFile(file, after);
  if (mode !== undefined) chmodSync(file, mode);
  return "written";
}

/** The folder with the user's configuration of agents. */
export function userHome(env: NodeJS.ProcessEnv): string {
  return env.HOME || env.USERPROFILE || homedir();
}

export function backupFile(file: string): string {
  return `${file}.bonsai-backup`;
}

/** The outcome of a change in sentences. `entry` is such as `the hook`, and `next` the user's next step. */
export function installLines(
  { file, before }: ConfigChange,
  { outcome, entry, label, next }: { outcome: ConfigOutcome; entry: string; label: string; next: string },
): Line[] {
  if (outcome === "declined") return [["Nothing was changed."]];
  if (outcome === "unchanged") return [[`${label} already has ${entry}, in ${file}.`]];
  const former = before === undefined ? "" : ` The former file is ${backupFile(file)}.`;
  return [[`Added ${entry} to ${file}.${former}`], [next]];
}

/** As `installLines`, for a removal. */
export function removalLines(file: string, outcome: ConfigOutcome, entry: string): Line[] {
  if (outcome === "declined") return [["Nothing was changed."]];
  return [[outcome === "written" ? `Removed ${entry} from ${file}.` : `${file} does not have ${entry}.`]];
}

/** Unchanged lines shown around a change. */
const CONTEXT_LINES = 2;

/** The changed lines between the common beginning and the common end. */
function changeLines({ file, before = "", after }: ConfigChange): Line[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const shown = (lines: readonly string[], mark: string, colour: "gray" | "red" | "green") =>
    lines.map((text): Line => [span(`${mark} ${printable(text)}`, colour)]);
  const rest = now.length - end;
  return [
    [span(file, "bold")],
    ...shown(now.slice(Math.max(0, start - CONTEXT_LINES), start), " ", "gray"),
    ...shown(old.slice(start, old.length - end), "-", "red"),
    ...shown(now.slice(start, rest), "+", "green"),
    ...shown(now.slice(rest, rest + CONTEXT_LINES), " ", "gray"),
  ];
}

/** Parses JSON with comments; an empty text is an empty object. @throws BonsaiError `agent_config_unreadable` */
export function parseConfig(text: string, file: string): Record<string, unknown> {
  if (text.trim() === "") return {};
  const errors: ParseError[] = [];
  const value: unknown = parse(text.replace(/^\uFEFF/, ""), errors, { allowTrailingComma: true });
  if (errors.length > 0 || !isRecord(value)) throw unreadableConfig(file, "JSON");
  return value;
}

export function unreadableConfig(file: string, format: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    /** Another agent's configuration file is not valid, so Bonsai cannot change it. */
    code: "agent_config_unreadable",
    message: `${file} is not valid ${format}. Nothing was changed.`,
    hint: "Fix the file, then run the command again.",
    cause,
  });
}

/** Keys of objects and indexes of lists; -1 adds to a list. */
type ConfigPath = readonly (string | number)[];

/**
 * Sets a value in a text of JSON with comments, and changes no other character. Undefined removes it, and the objects and
 * lists around it that become empty.
 */
export function withConfigValue(text: string, path: ConfigPath, value: unknown): string {
  const start = text.trim() === "" ? "{}\n" : text;
  if (value === undefined) return withoutConfigValue(start, path);
  const parent = path.slice(0, -1);
  const key = path.at(-1);
  // A missing or empty parent is written whole.
  if (key !== undefined && Object.keys(valueAt(start, parent) ?? {}).length === 0)
    return withConfigValue(start, parent, typeof key === "string" ? { [key]: value } : [value]);
  const [edit] = modify(start, [...path], value, {});
  return edit === undefined
    ? start
    : applyEdits(start, [{ ...edit, content: indented(start, path, value, edit) }]);
}

/** The library removes the wrong characters at the end of a list on one line. */
function withoutConfigValue(text: string, path: ConfigPath): string {
  const tree = parseTree(text);
  const value = tree && findNodeAtLocation(tree, [...path]);
  if (value === undefined) return text;
  const node = value.parent?.type === "property" ? value.parent : value;
  const container = node.parent!;
  const siblings = container.children!;
  const at = siblings.indexOf(node);
  if (siblings.length === 1 && path.length > 1) return withoutConfigValue(text, path.slice(0, -1));
  const end = (each: Node) => each.offset + each.length;
  const [before, after] = [siblings[at - 1], siblings[at + 1]];
  const from = before ? end(before) : after ? node.offset : container.offset + 1;
  const to = before ? end(node) : after ? after.offset : end(container) - 1;
  return text.slice(0, from) + text.slice(to);
}

function valueAt(text: string, path: ConfigPath): object | undefined {
  return path.reduce<unknown>(
    (at, key) => (at as Record<string | number, unknown> | undefined)?.[key],
    parse(text),
  ) as object | undefined;
}

/** The text of an edit on lines of its own, in the style of the file. The library would also format the lines around it. */
function indented(text: string, path: ConfigPath, value: unknown, edit: Edit): string {
  const tab = /^\t+"/m.test(text) ? "\t" : (/^ +(?=")/m.exec(text)?.[0] ?? "  ");
  const lineEnd = /\r\n/.test(text) ? "\r\n" : "\n";
  const line = (depth: number) => lineEnd + tab.repeat(depth);
  const body = JSON.stringify(value, null, tab).replaceAll("\n", line(path.length));
  // An insertion has the key and the commas; a replacement has only the value.
  if (edit.length > 0) return body;
  const key = path.at(-1)!;
  const name = typeof key === "string" ? `${JSON.stringify(key)}: ` : "";
  return `${edit.content.startsWith(",") ? "," : ""}${line(path.length)}${name}${body}${edit.content.endsWith(",") ? "," : ""}`;
}
