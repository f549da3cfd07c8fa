import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import type { Readable } from "node:stream";
import { textHead } from "@bonsai-agent/messages";
import { type FileLine, fileHead, formatOfBom, isTextWithNuls, LineSplitter } from "../files/open-file.ts";
import { startProcess } from "../process.ts";
import { globMatcher } from "./globs.ts";
import type { LineSearch, LineSearchOptions, SearchedLine } from "./script-search.ts";

/** The limit of `scriptSearch`, too. */
const MAX_FILE_SIZE = "50M";
/** ripgrep lists each match of a line: for one letter in a minified line, that is half a gigabyte. */
const MAX_ROW_BYTES = 16 << 20;
/** Bytes at the start of a file that decide whether it is text or binary data. */
const MAX_JUDGED_BYTES = 64 << 10;
/** Maximum characters of ripgrep's error output. */
const MAX_COMPLAINT_CHARS = 600;

/** Searches with ripgrep. @param program its path */
export function ripgrepSearch(program: string): LineSearch {
  return async function* search(options) {
    const { root, isFolder, signal } = options;
    signal.throwIfAborted();
    const child = await startProcess({
      command: program,
      args: argumentsFor(options),
      cwd: isFolder ? root : dirname(root),
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
    });
    const stop = () => child.kill("SIGKILL");
    signal.addEventListener("abort", stop);
    const complaint = collected(child);
    const closed = once(child, "close");
    try {
      signal.throwIfAborted();
      yield* searchedLines(child, options);
      const [code] = await closed;
      signal.throwIfAborted();
      if (code === 2) report(complaint(), options);
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  };
}

async function* searchedLines(child: ChildProcess, options: LineSearchOptions): AsyncGenerator<SearchedLine> {
  const { glob, isFolder } = options;
  const isWanted = isFolder && glob !== undefined ? globMatcher(glob) : () => true;
  let latest: { path: string; isBinary: boolean } | undefined;
  for await (const { bytes, length } of rowsOf(child.stdout!)) {
    const row = bytes.toString();
    const line = length > bytes.length ? tooLongLine(row) : searchedLine(row);
    if (line === undefined || !isWanted(line.path)) continue;
    if (latest?.path !== line.path) {
      latest = { path: line.path, isBinary: await isBinary(line.path, options) };
      if (latest.isBinary)
        options.onNote(`[Not shown: the matches in ${line.path}, which is a binary file.]`);
    }
    if (!latest.isBinary) yield line;
  }
}

/** Decides instead of ripgrep, which stops at the first NUL of a text. */
async function isBinary(path: string, { root, isFolder }: LineSearchOptions): Promise<boolean> {
  // The file was removed after the search: show the found line.
  const handle = await open(isFolder ? join(root, path) : root).catch(() => undefined);
  if (handle === undefined) return false;
  try {
    const head = await fileHead(handle, MAX_JUDGED_BYTES);
    return formatOfBom(head) === undefined && head.includes(0) && !isTextWithNuls(head);
  } finally {
    await handle.close();
  }
}

function argumentsFor(options: LineSearchOptions): string[] {
  const { root, isFolder, pattern, isLiteral, ignoresCase, glob, contextLines } = options;
  return [
    "--json",
    "--no-config",
    "--text",
    "--hidden",
    "--no-require-git",
    "--sort=path",
    `--max-filesize=${MAX_FILE_SIZE}`,
    "--glob=!.git",
    ...(isLiteral ? ["--fixed-strings"] : []),
    ...(ignoresCase ? ["--ignore-case"] : []),
    ...(contextLines > 0 ? [`--context=${contextLines}`] : []),
    ...(glob === undefined ? [] : globArguments(glob)),
    `--regexp=${pattern}`,
    "--",
    isFolder ? "./" : basename(root),
  ];
}

/**
 * Passes the name as a file type: a glob would include files that .gitignore excludes. The type has a wildcard for each
 * part that ripgrep reads in another way, so it only skips files early; the results are checked again.
 */
function globArguments(glob: string): string[] {
  const name = glob.slice(glob.lastIndexOf("/") + 1).replaceAll(/\\./g, "?");
  if (glob.startsWith("!") || name === "" || name === "**") return [];
  if (name !== glob && /[{}]/.test(name)) return [];
  const classes = name.replace(/\[.*\]|[[\]]/, "*");
  const isChoice = /^[^{}]*(?:\{[^{},]*,[^{}]*\}[^{}]*)*$/.test(classes);
  const wide = isChoice ? classes : classes.replace(/\{.*\}|[{}]/, "*");
  const itself = name.replaceAll(/[[\]{}]/g, "?");
  return [...new Set([wide, itself])].map((each) => `--type-add=wanted:${each}`).concat("--type=wanted");
}

type Text = { text: string } | { bytes: string };

interface Row {
  type: string;
  data: { path: Text; lines: Text; line_number: number; submatches: { start: number }[] };
}

function searchedLine(row: string): SearchedLine | undefined {
  const { type, data } = JSON.parse(row) as Row;
  if (type !== "match" && type !== "context") return undefined;
  const text = textOf(data.lines).replace(/\r?\n$/, "");
  const startByte = data.submatches[0]?.start;
  const matchAt = startByte === undefined ? 0 : Buffer.from(text).subarray(0, startByte).toString().length;
  return { path: pathOf(data.path), line: data.line_number, text, ...(type === "match" ? { matchAt } : {}) };
}

/** Reads a row without its end. The path comes first, the line number after the text. */
function tooLongLine(row: string): SearchedLine | undefined {
  const path = /^\{"type":"match","data":\{"path":(\{[^}]*\}),/.exec(row)?.[1];
  if (path === undefined) return undefined;
  const line = /\},"line_number":(\d+),/.exec(row)?.[1];
  return {
    path: pathOf(JSON.parse(path) as Text),
    line: line === undefined ? undefined : Number(line),
    text: "[matches, but is too long to show. Search for a rarer part of it]",
    matchAt: 0,
  };
}

function pathOf(text: Text): string {
  return textOf(text).replaceAll(sep, "/").replace(/^\.\//, "");
}

function textOf(text: Text): string {
  return "text" in text ? text.text : Buffer.from(text.bytes, "base64").toString();
}

function collected(child: ChildProcess): () => string {
  let complaint = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    if (complaint.length < MAX_COMPLAINT_CHARS) complaint += text;
  });
  return () => textHead(complaint.trim(), MAX_COMPLAINT_CHARS);
}

/** @throws Error for an invalid pattern or glob; other errors become notes */
function report(complaint: string, { pattern, glob, onNote }: LineSearchOptions): void {
  if (complaint.startsWith("regex"))
    throw new Error(
      `Invalid pattern ${JSON.stringify(pattern)}: ${complaint}\nSet literal to search for plain text.`,
    );
  if (complaint.startsWith("error parsing glob"))
    throw new Error(`Invalid glob ${JSON.stringify(glob)}: ${complaint}`);
  onNote(`[ripgrep reported: ${complaint}]`);
}

/** Splits the output into rows. Holds only the beginning of a very long row. */
async function* rowsOf(stream: Readable): AsyncGenerator<FileLine> {
  let rows: FileLine[] = [];
  const splitter = new LineSplitter(
    (row) => rows.push(row),
    () => MAX_ROW_BYTES,
  );
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    splitter.push(chunk);
    yield* rows;
    rows = [];
  }
  splitter.end();
  yield* rows;
}
