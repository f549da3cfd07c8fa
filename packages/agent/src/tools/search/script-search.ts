import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { BonsaiError } from "@bonsai-agent/messages";
import { counted } from "@bonsai-agent/messages/numbers";
import { formatOfBom, isTextWithNuls } from "../files/open-file.ts";
import { shownBytes, shownCount } from "../result-text.ts";
import { coverageNotes, FolderWalk } from "./folder-walk.ts";
import { globMatcher } from "./globs.ts";

/** A line with a match, or a context line. */
export interface SearchedLine {
  /** Relative to where the search began, with `/`. */
  path: string;
  /** From 1; undefined if unknown. */
  line: number | undefined;
  text: string;
  /** Position of the first match; absent in a context line. */
  matchAt?: number | undefined;
}

export interface LineSearchOptions {
  /** A folder, or one file. */
  root: string;
  isFolder: boolean;
  /** A regular expression, unless literal. */
  pattern: string;
  isLiteral: boolean;
  ignoresCase: boolean;
  glob?: string | undefined;
  contextLines: number;
  signal: AbortSignal;
  /** Called with a sentence for each part that the search did not cover. */
  onNote: (note: string) => void;
}

/** Yields lines in the order of paths and numbers. */
export type LineSearch = (options: LineSearchOptions) => AsyncIterable<SearchedLine>;

/** Files are searched in memory. */
const MAX_FILE_BYTES = 50 << 20;
const MAX_PATTERN_CHARS = 50_000;

/** Searches without ripgrep. Finds the same, except that `\b` and `\w` know only ASCII. */
export const scriptSearch: LineSearch = async function* search(options) {
  const { signal, contextLines } = options;
  const worker = new ExpressionWorker(expressionOf(options));
  let binaryFiles = 0;
  try {
    for await (const path of filesOf(options)) {
      signal.throwIfAborted();
      const text = await textOf(path, options, () => (binaryFiles += 1));
      if (text === undefined) continue;
      const found = await worker.find({ texts: text, name: path, signal });
      if (found.size > 0) yield* withContext(path, text.split(/\r?\n/), { found, contextLines });
    }
    if (binaryFiles > 0) options.onNote(`[Not searched: ${counted(binaryFiles, "binary file")}.]`);
  } finally {
    worker.close();
  }
};

function expressionOf({ pattern, isLiteral, ignoresCase }: LineSearchOptions): RegExp {
  if (pattern.length > MAX_PATTERN_CHARS)
    throw new Error(
      `The pattern has ${shownCount(pattern.length)} characters; the maximum is ${shownCount(MAX_PATTERN_CHARS)}. Search for a part of it.`,
    );
  // Accepts the inline flag and the named groups of ripgrep.
  const inline = isLiteral ? null : /^\(\?i\)/.exec(pattern);
  const source = isLiteral
    ? pattern.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")
    : pattern.slice(inline?.[0].length ?? 0).replaceAll("(?P<", "(?<");
  const flags = `${ignoresCase || inline !== null ? "i" : ""}${/\\p\{/i.test(source) ? "u" : ""}`;
  try {
    return new RegExp(source, flags);
  } catch (cause) {
    throw new Error(
      `Invalid pattern ${JSON.stringify(pattern)}: ${(cause as Error).message}. Set literal to search for plain text.`,
      { cause },
    );
  }
}

async function* filesOf({ root, isFolder, glob, signal, onNote }: LineSearchOptions): AsyncGenerator<string> {
  if (!isFolder) {
    yield basename(root);
    return;
  }
  const walk = new FolderWalk({ folder: root, signal });
  const isWanted = glob === undefined ? () => true : globMatcher(glob);
  for await (const { path, kind } of walk.entries()) if (kind === "file" && isWanted(path)) yield path;
  coverageNotes(walk.gaps).forEach(onNote);
}

/** Returns undefined for a binary file. */
async function textOf(
  path: string,
  { root, isFolder, onNote }: LineSearchOptions,
  onBinary: () => void,
): Promise<string | undefined> {
  const file = join(isFolder ? root : dirname(root), path);
  try {
    const stats = await stat(file);
    // The listed file could be a pipe by now.
    if (!stats.isFile()) throw new Error("it is not a regular file");
    const { size } = stats;
    if (size > MAX_FILE_BYTES) {
      onNote(`[${path} was not searched: it has ${shownBytes(size)}.]`);
      return undefined;
    }
    const bytes = await readFile(file);
    const format = formatOfBom(bytes);
    if (format === undefined && bytes.includes(0) && !isTextWithNuls(bytes)) {
      onBinary();
      return undefined;
    }
    const text = new TextDecoder(format?.encoding).decode(bytes);
    return text.replace(/\r?\n$/, "");
  } catch (error) {
    onNote(`[${path} was not searched: ${(error as Error).message}.]`);
    return undefined;
  }
}

function* withContext(
  path: string,
  lines: readonly string[],
  { found, contextLines }: { found: Matches; contextLines: number },
): Generator<SearchedLine> {
  let next = 0;
  for (const index of found.keys()) {
    const last = Math.min(lines.length - 1, index + contextLines);
    for (let at = Math.max(next, index - contextLines); at <= last; at += 1)
      yield { path, line: at + 1, text: lines[at]!, matchAt: found.get(at)?.start };
    next = Math.max(next, last + 1);
  }
}

/** A pattern that takes longer on one file, or on some texts, will hardly end. */
const MAX_FILE_MS = 2_000;

/** By number of the line or text, from 0: its first match. */
type Matches = ReadonlyMap<number, { start: number; end: number }>;

interface Answer {
  /** Three numbers for each match: the number of the line or text, start, end. */
  found?: number[];
  problem?: string;
}

/** Code of the worker. It is text, because the published command is one file and its build must not rewrite this. */
const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
let expression;
parentPort.on("message", (given) => {
  try {
    expression ??= new RegExp(workerData.source, workerData.flags);
    const found = [];
    const texts = typeof given === "string" ? given.split(/\\r?\\n/) : given;
    for (const [number, text] of texts.entries()) {
      const match = expression.exec(text);
      if (match !== null) found.push(number, match.index, match.index + match[0].length);
    }
    parentPort.postMessage({ found });
  } catch (error) {
    parentPort.postMessage({ problem: error.message });
  }
});
`;

/** Searches with a regular expression in a thread: a slow expression can be stopped, and blocks neither keys nor signals. */
export class ExpressionWorker {
  readonly #expression: Pick<RegExp, "source" | "flags">;
  #worker: Worker | undefined;

  constructor(expression: Pick<RegExp, "source" | "flags">) {
    this.#expression = expression;
  }

  /**
   * Finds the first match in each line of a text, or in each text of a list, where it may span several lines.
   * @param search.name the text in errors
   * @throws BonsaiError `expression_too_slow` after two seconds; an Error for an invalid expression; the signal's reason
   */
  async find(search: {
    texts: string | readonly string[];
    name: string;
    signal: AbortSignal;
  }): Promise<Matches> {
    const { texts, name, signal } = search;
    signal.throwIfAborted();
    const worker = await this.#running(signal);
    const limit = AbortSignal.timeout(MAX_FILE_MS);
    const answered = once(worker, "message", { signal: AbortSignal.any([signal, limit]) });
    worker.postMessage(texts);
    try {
      const [{ found = [], problem }] = (await answered) as [Answer];
      if (problem !== undefined) throw new Error(problem);
      const matches = new Map<number, { start: number; end: number }>();
      for (let at = 0; at < found.length; at += 3)
        matches.set(found[at]!, { start: found[at + 1]!, end: found[at + 2]! });
      return matches;
    } catch (cause) {
      this.close();
      signal.throwIfAborted();
      throw limit.aborted ? tooSlow(this.#expression.source, name, cause) : cause;
    }
  }

  /** Ends the thread. */
  close(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** The time limit excludes the start of the thread, which takes seconds on a busy machine. */
  async #running(signal: AbortSignal): Promise<Worker> {
    if (this.#worker !== undefined) return this.#worker;
    const { source, flags } = this.#expression;
    const worker = new Worker(WORKER, { eval: true, workerData: { source, flags }, execArgv: [] });
    this.#worker = worker;
    // An error between two searches is thrown by the next one.
    worker.on("error", () => {});
    try {
      await once(worker, "online", { signal });
    } catch (error) {
      this.close();
      signal.throwIfAborted();
      throw error;
    }
    return worker;
  }
}

function tooSlow(source: string, name: string, cause: unknown): BonsaiError {
  return new BonsaiError({
    code: "expression_too_slow",
    message: `The pattern ${JSON.stringify(source)} takes too long on ${name}: more than ${MAX_FILE_MS / 1000} seconds. Write it without nested repetitions, or search for plain text.`,
    hint: "A repetition inside a repetition, like (a+)+, tries every way to split the text.",
    cause,
  });
}
