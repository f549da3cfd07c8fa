import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { counted } from "@bonsai-agent/messages/numbers";
import { formatOfBom, isTextWithNuls } from "../files/open-file.ts";
import { shownBytes, shownCount } from "../result-text.ts";
import { ExpressionWorker, type LineMatches } from "./expression-worker.ts";
import { coverageNotes, FolderWalk } from "./folder-walk.ts";
import { globMatcher } from "./globs.ts";

/** A line that a search found, or one beside it. */
export interface SearchedLine {
  /** Relative to where the search began, with `/`. */
  path: string;
  /** From 1; absent where a search could not tell. */
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
  /** Called with what the search could not cover, a sentence each. */
  onNote: (note: string) => void;
}

/** Lines in the order of paths and numbers. Whoever has enough stops asking. */
export type LineSearch = (options: LineSearchOptions) => AsyncIterable<SearchedLine>;

/** Files are searched in memory. */
const MAX_FILE_BYTES = 50 << 20;
/** An expression is no text to search for whole passages with. */
const MAX_PATTERN_CHARS = 50_000;

/**
 * Searches without any program: for machines that have no ripgrep. Finds the same but for words: `\b` and `\w` know only
 * ASCII here.
 */
export const scriptSearch: LineSearch = async function* search(options) {
  const { signal, contextLines } = options;
  const worker = new ExpressionWorker(expressionOf(options));
  let binaryFiles = 0;
  try {
    for await (const path of filesOf(options)) {
      signal.throwIfAborted();
      const text = await textOf(path, options, () => (binaryFiles += 1));
      if (text === undefined) continue;
      const found = await worker.search({ text, name: path, signal });
      if (found.size > 0) yield* withContext({ path, lines: text.split(/\r?\n/), found, contextLines });
    }
    if (binaryFiles > 0) options.onNote(`[Not searched: ${counted(binaryFiles, "binary file")}.]`);
  } finally {
    worker.close();
  }
};

function expressionOf({ pattern, isLiteral, ignoresCase }: LineSearchOptions): RegExp {
  if (pattern.length > MAX_PATTERN_CHARS) {
    throw new Error(
      `The pattern has ${shownCount(pattern.length)} characters; the maximum is ${shownCount(MAX_PATTERN_CHARS)}. Search for a part of it.`,
    );
  }
  // As ripgrep writes it.
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

/** Undefined for what is no text. */
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

interface FileMatches {
  path: string;
  lines: readonly string[];
  found: LineMatches;
  contextLines: number;
}

function* withContext({ path, lines, found, contextLines }: FileMatches): Generator<SearchedLine> {
  let next = 0;
  for (const index of found.keys()) {
    const last = Math.min(lines.length - 1, index + contextLines);
    for (let at = Math.max(next, index - contextLines); at <= last; at += 1) {
      const matchAt = found.get(at);
      yield { path, line: at + 1, text: lines[at]!, ...(matchAt === undefined ? {} : { matchAt }) };
    }
    next = Math.max(next, last + 1);
  }
}
