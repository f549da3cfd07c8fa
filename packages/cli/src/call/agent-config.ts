import { chmodSync, copyFileSync, statSync } from "node:fs";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { writeWholeFile } from "@bonsai-agent/models/host";
import { applyEdits, modify, type ParseError, parse } from "jsonc-parser";
import { type Line, span } from "../views/line.ts";
import { printable } from "../views/terminal-text.ts";
import { wrongUsage } from "./failure.ts";
import type { Invocation } from "./invocation.ts";
import { terminalUi } from "./terminal-ui.ts";

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
  if (invocation.options.yes !== true && !(await isConfirmed(invocation, file))) return "declined";
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (before !== undefined) copyFileSync(file, backupFile(file));
  writeWholeFile(file, after);
  if (mode !== undefined) chmodSync(file, mode);
  return "written";
}

export function backupFile(file: string): string {
  return `${file}.bonsai-backup`;
}

function isConfirmed({ io, output }: Invocation, file: string): Promise<boolean> {
  return io.interruptible(async (signal) => {
    const ui = terminalUi({ io, output, signal });
    if (ui === undefined)
      throw wrongUsage(
        `${file} was not changed: there is no terminal to ask on.`,
        "Add --yes to write without asking.",
      );
    try {
      return await ui.confirm(`Write ${file}?`, "", { signal });
    } finally {
      ui.close();
    }
  });
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

/**
 * Sets a value in a text of JSON with comments, and changes nothing else. Undefined removes it, and the objects around it
 * that become empty.
 */
export function withConfigValue(text: string, path: readonly string[], value: unknown): string {
  const tabs = /^\t+"/m.test(text);
  const [indent = "  "] = /^ +(?=")/m.exec(text) ?? [];
  const formattingOptions = {
    insertSpaces: !tabs,
    tabSize: indent.length,
    eol: /\r\n/.test(text) ? "\r\n" : "\n",
  };
  const start = text.trim() === "" ? "{}\n" : text;
  const changed = applyEdits(start, modify(start, [...path], value, { formattingOptions }));
  if (value !== undefined || path.length < 2) return changed;
  const parent = path.slice(0, -1);
  const left = parent.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), parse(changed));
  const isEmpty = isRecord(left) && Object.keys(left).length === 0;
  return isEmpty ? withConfigValue(changed, parent, undefined) : changed;
}
