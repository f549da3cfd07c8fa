import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { basename, dirname } from "node:path";
import { createInterface } from "node:readline";
import type { LineSearch, LineSearchOptions, SearchedLine } from "./line-search.ts";

/** The same as for the search without ripgrep. */
const MAX_FILE_SIZE = "50M";
/** Of its complaints, enough to see what is wrong. */
const MAX_COMPLAINT_CHARS = 600;

/** Searches with ripgrep, whose program is given. */
export function ripgrepSearch(program: string): LineSearch {
  return async function* search(options) {
    const { root, isFolder, signal } = options;
    signal.throwIfAborted();
    const child = spawn(program, argumentsFor(options), {
      cwd: isFolder ? root : dirname(root),
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
    });
    const stop = () => child.kill("SIGKILL");
    signal.addEventListener("abort", stop);
    const complaint = collected(child);
    const closed = once(child, "close");
    // A failure to start is seen where the end is awaited.
    closed.catch(() => {});
    try {
      for await (const row of createInterface({ input: child.stdout! })) {
        const line = searchedLine(row);
        if (line !== undefined) yield line;
      }
      const [code] = await closed;
      signal.throwIfAborted();
      if (code === 2) report(complaint(), options);
    } finally {
      signal.removeEventListener("abort", stop);
      stop();
    }
  };
}

function argumentsFor({
  root,
  isFolder,
  pattern,
  isLiteral,
  ignoresCase,
  glob,
  contextLines,
}: LineSearchOptions): string[] {
  return [
    "--json",
    "--no-config",
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

/** A glob for names goes in as a file type: as a glob it would bring back what .gitignore leaves out. */
function globArguments(glob: string): string[] {
  if (glob.includes("/") || glob.startsWith("!")) return [`--glob=${glob}`];
  return [`--type-add=wanted:${glob}`, "--type=wanted"];
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
  const path = textOf(data.path).replaceAll("\\", "/").replace(/^\.\//, "");
  return { path, line: data.line_number, text, ...(type === "match" ? { matchAt } : {}) };
}

function textOf(text: Text): string {
  return "text" in text ? text.text : Buffer.from(text.bytes, "base64").toString();
}

function collected(child: ChildProcess): () => string {
  let complaint = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    if (complaint.length < MAX_COMPLAINT_CHARS) complaint += text;
  });
  return () => complaint.trim().slice(0, MAX_COMPLAINT_CHARS);
}

/** A wrong pattern ends the search; a file that could not be read is only told. */
function report(complaint: string, { pattern, glob, onNote }: LineSearchOptions): void {
  if (complaint.startsWith("regex")) {
    throw new Error(
      `The pattern ${JSON.stringify(pattern)} cannot be used: ${complaint}\nSet literal to search for it as it is.`,
    );
  }
  if (complaint.startsWith("error parsing glob")) {
    throw new Error(`The glob ${JSON.stringify(glob)} cannot be used: ${complaint}`);
  }
  onNote(`[ripgrep says: ${complaint}]`);
}
