import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { textPart } from "@bonsai-agent/messages/host";
import { z } from "zod";
import { existingPath, type GuardedPath, type PathGuard } from "../path-guard.ts";
import { programPath } from "../process.ts";
import { MAX_RESULT_BYTES, shownCount, truncationTo } from "../result-text.ts";
import { defineTool, type Tool } from "../tool-registry.ts";
import { withLiteralSegments } from "./folder-walk.ts";
import { ripgrepSearch } from "./ripgrep.ts";
import { type SearchedLine, scriptSearch } from "./script-search.ts";

const DEFAULT_LIMIT = 100;
/** Matches beyond the limit that are counted before the search gives up. */
const MAX_COUNTED_MORE = 1_000;
/** Longer lines are machine-made and shown only around the match. */
const MAX_LINE_CHARS = 500;
const CHARS_BEFORE_MATCH = 100;

const parameters = z.object({
  pattern: z
    .string()
    .min(1)
    .describe("A regular expression, matched line by line; plain text if literal is true."),
  path: z.string().min(1).optional().describe("The folder or file to search. Default: the working folder."),
  glob: z.string().min(1).optional().describe('Files to search, such as "*.ts" or "src/**/*.md".'),
  ignoreCase: z.boolean().optional().describe("Default false."),
  literal: z.boolean().optional().describe("Treats pattern as plain text. Default false."),
  context: z
    .int()
    .min(0)
    .max(50)
    .optional()
    .describe("Lines to show before and after each match. Default 0."),
  limit: z.int().min(1).optional().describe(`How many matching lines to return. Default ${DEFAULT_LIMIT}.`),
});

type Input = z.output<typeof parameters>;

export function grepTool(guard: PathGuard, env: NodeJS.ProcessEnv): Tool {
  return defineTool({
    name: "grep",
    effects: "none",
    label: "Grep",
    description:
      "Searches the contents of files; returns path:line: text. Skips files ignored by .gitignore, unless path is inside an ignored folder.",
    parameters,
    async execute({ input, signal }) {
      refuseLineBreaks(input);
      const { glob, path = "." } = input;
      const root = await existingPath(guard, { toolName: "grep", path, access: "read", signal });
      const stats = await stat(root.real);
      if (!stats.isDirectory() && !stats.isFile())
        throw new Error(`${root.shown} is neither a file nor a folder.`);
      const notes: string[] = [];
      const program = programPath(process.platform === "win32" ? "rg.exe" : "rg", env);
      const search = program === undefined ? scriptSearch : ripgrepSearch(program);
      const lines = search({
        root: root.real,
        isFolder: stats.isDirectory(),
        pattern: input.pattern,
        isLiteral: input.literal ?? false,
        ignoresCase: input.ignoreCase ?? false,
        glob: glob === undefined ? undefined : await withLiteralSegments(glob, root.real),
        contextLines: input.context ?? 0,
        signal,
        onNote: (note) => notes.push(note),
      });
      const listing = new Listing(input, stats.isDirectory() ? root.shown : dirname(root.shown));
      for await (const line of lines) if (!listing.add(line)) break;
      const text = [...listing.lines(root), ...notes.slice(0, 10)].join("\n");
      return { content: [{ type: "text", text }], details: listing.details };
    },
  });
}

function refuseLineBreaks({ pattern, literal }: Input): void {
  if (!pattern.includes("\n") && (literal || !/(?<!\\)(?:\\\\)*\\n/.test(pattern))) return;
  throw new Error(
    "The pattern contains a line break, but grep searches line by line. Search for one of the lines, with context.",
  );
}

/** Collects the lines of a result within its limits. */
class Listing {
  readonly #limit: number;
  readonly #hasContext: boolean;
  readonly #folder: string;
  readonly #lines: string[] = [];
  #bytes = 0;
  #matches = 0;
  #shownMatches = 0;
  #isTooLarge = false;
  #hasCutLine = false;
  #last: SearchedLine | undefined;

  constructor({ limit = DEFAULT_LIMIT, context = 0 }: Input, folder: string) {
    this.#limit = limit;
    this.#hasContext = context > 0;
    this.#folder = folder;
  }

  /** Returns false if it needs no more lines. */
  add(line: SearchedLine): boolean {
    const isMatch = line.matchAt !== undefined;
    if (isMatch) this.#matches += 1;
    if (!this.#isTooLarge && this.#matches <= this.#limit) this.#show(line, isMatch);
    return this.#matches - this.#shownMatches <= MAX_COUNTED_MORE;
  }

  get details() {
    const isLimited = this.#matches > this.#limit && this.#shownMatches === this.#limit;
    return {
      matches: this.#matches,
      ...(isLimited ? { matchLimitReached: this.#limit } : {}),
      ...(this.#hasCutLine ? { linesTruncated: true } : {}),
      // The size of the omitted lines is unknown.
      ...(this.#isTooLarge ? { truncation: truncationTo(this.#lines.join("\n"), {}) } : {}),
    };
  }

  lines({ shown }: GuardedPath): string[] {
    if (this.#matches === 0) return [`No matches in ${shown === "." ? "the working folder" : shown}.`];
    const more = this.#matches - this.#shownMatches;
    if (more === 0) return this.#lines;
    const count = more > MAX_COUNTED_MORE ? `More than ${shownCount(MAX_COUNTED_MORE)}` : shownCount(more);
    const note = `[${count} more matches. Narrow the pattern, the path or the glob, or raise limit.]`;
    return [...this.#lines, note];
  }

  #show(line: SearchedLine, isMatch: boolean): void {
    const mark = isMatch ? ":" : "-";
    const path = this.#folder === "." ? line.path : join(this.#folder, line.path);
    const text = shortLine(line).replaceAll("\0", "␀");
    const shown = `${path}${mark}${line.line ?? "?"}${mark} ${text}`;
    this.#bytes += Buffer.byteLength(shown) + 1;
    this.#isTooLarge = this.#bytes > MAX_RESULT_BYTES;
    if (this.#isTooLarge) return;
    if (this.#hasContext && this.#isApart(line)) this.#lines.push("--");
    this.#lines.push(shown);
    this.#last = line;
    if (text.length < line.text.length) this.#hasCutLine = true;
    if (isMatch) this.#shownMatches += 1;
  }

  #isApart({ path, line }: SearchedLine): boolean {
    const last = this.#last;
    return last !== undefined && (last.path !== path || last.line === undefined || last.line + 1 !== line);
  }
}

/** Cuts a long line to the part around its match. */
function shortLine({ text, matchAt = 0 }: SearchedLine): string {
  if (text.length <= MAX_LINE_CHARS) return text;
  const start = matchAt + CHARS_BEFORE_MATCH > MAX_LINE_CHARS ? matchAt - CHARS_BEFORE_MATCH : 0;
  const end = start + MAX_LINE_CHARS;
  return `${start > 0 ? "…" : ""}${textPart(text, start, end)}${end < text.length ? "…" : ""}`;
}
