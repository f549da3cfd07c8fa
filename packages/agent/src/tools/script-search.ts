import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createContext, Script } from "node:vm";
import { globMatcher } from "./glob-matcher.ts";
import type { LineSearch, LineSearchOptions, SearchedLine } from "./line-search.ts";
import { formatOfBom } from "./text-encoding.ts";
import { shownBytes } from "./text-limits.ts";
import { FolderWalk, gapNotes } from "./walk-folder.ts";

/** Files are searched in memory. */
const MAX_FILE_BYTES = 50 << 20;
/** A pattern that takes longer on one file goes round in circles, and nothing else runs meanwhile. */
const MAX_FILE_MS = 2_000;

/**
 * Searches without any program: for machines that have no ripgrep. Finds the same but for words: `\b` and `\w` know only
 * ASCII here.
 */
export const scriptSearch: LineSearch = async function* search(options) {
  const expression = expressionOf(options);
  for await (const path of filesOf(options)) {
    options.signal.throwIfAborted();
    const lines = await linesOf(path, options);
    if (lines === undefined) continue;
    const found = foundIn(lines, expression, path);
    yield* withContext({ path, lines, found, contextLines: options.contextLines });
  }
};

function expressionOf({ pattern, isLiteral, ignoresCase }: LineSearchOptions): RegExp {
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
async function linesOf(
  path: string,
  { root, isFolder, onNote }: LineSearchOptions,
): Promise<string[] | undefined> {
  const file = join(isFolder ? root : dirname(root), path);
  try {
    const { size } = await stat(file);
    if (size > MAX_FILE_BYTES) {
      onNote(`[${path} was not searched: it has ${shownBytes(size)}.]`);
      return undefined;
    }
    const bytes = await readFile(file);
    const format = formatOfBom(bytes);
    if (format === undefined && bytes.includes(0)) return undefined;
    const text = new TextDecoder(format?.encoding).decode(bytes);
    return text.replace(/\r?\n$/, "").split(/\r?\n/);
  } catch (error) {
    onNote(`[${path} was not searched: ${(error as Error).message}.]`);
    return undefined;
  }
}

/** Made once, for making one takes longer than searching a file. A search sets `scan` and runs it at once. */
const sandbox = { scan: () => {} };
const context = createContext(sandbox);
const scan = new Script("scan()");

/** Which lines match, and where in them. */
function foundIn(lines: readonly string[], expression: RegExp, path: string): Map<number, number> {
  const found = new Map<number, number>();
  sandbox.scan = () => {
    for (const [index, line] of lines.entries()) {
      const at = line.search(expression);
      if (at >= 0) found.set(index, at);
    }
  };
  try {
    // Only a script of its own can be broken off in the middle of an expression.
    scan.runInContext(context, { timeout: MAX_FILE_MS });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw cause;
    throw new Error(
      `The pattern ${expression} takes too long on ${path}. Write it without nested repetitions, or set literal.`,
      { cause },
    );
  }
  return found;
}

interface FileMatches {
  path: string;
  lines: readonly string[];
  found: ReadonlyMap<number, number>;
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
