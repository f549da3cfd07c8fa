import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ExpressionWorker, type LineMatches } from "./expression-worker.ts";
import { globMatcher } from "./glob-matcher.ts";
import type { LineSearch, LineSearchOptions, SearchedLine } from "./line-search.ts";
import { formatOfBom } from "./text-encoding.ts";
import { shownBytes, shownCount } from "./text-limits.ts";
import { FolderWalk, gapNotes } from "./walk-folder.ts";

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
  try {
    for await (const path of filesOf(options)) {
      signal.throwIfAborted();
      const text = await textOf(path, options);
      if (text === undefined) continue;
      const found = await worker.search({ text, name: path, signal });
      if (found.size > 0) yield* withContext({ path, lines: text.split(/\r?\n/), found, contextLines });
    }
  } finally {
    worker.close();
  }
};

function expressionOf({ pattern, isLiteral, ignoresCase }: LineSearchOptions): RegExp {
  if (pattern.length > MAX_PATTERN_CHARS) {
    throw new Error(
      `The pattern has ${shownCount(pattern.length)} characters; at most ${shownCount(MAX_PATTERN_CHARS)} can be used. Search for a piece of it.`,
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
      `The pattern ${JSON.stringify(pattern)} cannot be used: ${(cause as Error).message}. Set literal to search for it as it is.`,
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
  gapNotes(walk.gaps).forEach(onNote);
}

/** Undefined for what is no text. */
async function textOf(
  path: string,
  { root, isFolder, onNote }: LineSearchOptions,
): Promise<string | undefined> {
  const file = join(isFolder ? root : dirname(root), path);
  try {
    const stats = await stat(file);
    // What was a file when it was listed could be a pipe by now.
    if (!stats.isFile()) throw new Error("it is no regular file");
    const { size } = stats;
    if (size > MAX_FILE_BYTES) {
      onNote(`[${path} was not searched: it has ${shownBytes(size)}.]`);
      return undefined;
    }
    const bytes = await readFile(file);
    const format = formatOfBom(bytes);
    if (format === undefined && bytes.includes(0)) return undefined;
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
