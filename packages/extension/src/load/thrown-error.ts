import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { shortened } from "@bonsai-agent/messages";
import type { SourcePlace } from "./extension-files.ts";
import { generationOf, jitiGeneration, withoutMarkers } from "./generation.ts";

/** A line of a stack, with a URL or, for a file that jiti runs, a path. */
const FRAME = /^\s+at .*?((?:file:\/\/|\/|[A-Z]:\\)[^\n]*?):(\d+):(\d+)\)?$/gm;
const HEADER = /^(file:\/\/[^\n]*?[?&]bonsai=\d+)[^\n:]*:(\d+)\n/;

/** The place in an extension where an error was thrown; undefined if its stack has no file of an extension. */
export function placeThrown(error: unknown): SourcePlace | undefined {
  const { stack = "" } = readableError(error);
  for (const [, file = "", line, column] of stack.matchAll(FRAME)) {
    const place = placeIn(file, Number(line), Number(column));
    if (place !== undefined) return place;
  }
  return undefined;
}

/** A place of a stack, if it is in a file of an extension. */
function placeIn(name: string, line: number, column?: number): SourcePlace | undefined {
  if (!name.startsWith("file:")) return jitiGeneration(name) && { path: name, line, column };
  if (!/[?&]bonsai=\d+/.test(name)) return undefined;
  const place = { path: fileURLToPath(withoutMarkers(name)), line, column };
  return generationOf(name)?.files.original(place) ?? place;
}

/**
 * The place of an error that Node found before it ran any file. It is above the message, with the line and a row of
 * `^`.
 */
export function placeAbove(error: unknown): SourcePlace | undefined {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const [header, url, line] = HEADER.exec(stack) ?? [];
  if (header === undefined || url === undefined) return undefined;
  const carets = stack.split("\n").find((text) => /^\s*\^+\s*$/.test(text));
  return placeIn(url, Number(line), carets === undefined ? undefined : carets.indexOf("^") + 1);
}

/** The place of an import: of the imported name, else of the module's name. */
export function placeOfImport(path: string, specifier: string, name?: string): SourcePlace | undefined {
  const text = linesOf(path).join("\n");
  const quoted = `["']${escaped(specifier)}["']`;
  const named =
    name === undefined
      ? undefined
      : new RegExp(`(?<![\\w$])${escaped(name)}(?=[^\\w$;"'][^;"']*from\\s*${quoted})`);
  const index = (named?.exec(text) ?? new RegExp(quoted).exec(text))?.index;
  if (index === undefined) return undefined;
  const before = text.slice(0, index).split("\n");
  return { path, line: before.length, column: (before.at(-1) as string).length + 1 };
}

function escaped(text: string): string {
  return text.replace(/[^\w]/g, "\\$&");
}

/** `path:line:column`. */
export function placeText({ path, line, column }: SourcePlace): string {
  return column === undefined ? `${path}:${line}` : `${path}:${line}:${column}`;
}

/** The line, the one before it, and a mark below the column. Empty if the file cannot be read. */
export function codeFrame({ path, line, column }: SourcePlace): string {
  const lines = linesOf(path);
  const width = String(line).length;
  const shown = [line - 1, line]
    .filter((number) => number >= 1 && lines[number - 1] !== undefined)
    .map((number) => `  ${String(number).padStart(width)} | ${shownLine(lines[number - 1] as string)}`);
  if (shown.length === 0) return "";
  const mark =
    column !== undefined && column <= MAX_LINE_CHARS
      ? [`  ${" ".repeat(width)} | ${" ".repeat(column - 1)}^`]
      : [];
  return ["", ...shown, ...mark].join("\n");
}

const MAX_LINE_CHARS = 120;

function shownLine(line: string): string {
  return shortened(line.replaceAll("\t", " "), MAX_LINE_CHARS);
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split(/\r?\n/);
  } catch {
    // The message still has the place.
    return [];
  }
}

/** Makes any thrown value an error with a text as message and stack. */
export function readableError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && isReadable(thrown)) return thrown;
    return new Error(thrown instanceof Error ? unreadable : String(thrown));
  } catch {
    return new Error(unreadable);
  }
}

const unreadable = "The thrown value cannot be read.";

/** Getters may throw. */
function isReadable({ message, stack, cause, name }: Error): boolean {
  return (
    typeof message === "string" &&
    typeof name === "string" &&
    (stack === undefined || typeof stack === "string") &&
    (!(cause instanceof Error) || typeof cause.message === "string")
  );
}
