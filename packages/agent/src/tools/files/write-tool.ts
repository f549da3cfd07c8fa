import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import { type GuardedPath, lookalikePath, type PathGuard } from "../path-guard.ts";
import { countLines, errorCode, fileProblem, shownBytes, shownCount, shownLines } from "../result-text.ts";
import { defineTool, type Tool, type ToolResult } from "../tool-registry.ts";
import { fileDiff, inFileQueue, replaceFile } from "./file-change.ts";
import { type EditorFiles, LineSplitter } from "./open-file.ts";

/** Larger files are not compared. */
const MAX_COMPARED_BYTES = 5 << 20;
/** Lines after it are not counted: that would take seconds. */
const MAX_COUNTED_BYTES = 100 << 20;

const parameters = z.object({
  path: z.string().min(1).describe("The file, relative to the working folder or absolute."),
  content: z.string().describe("The whole new content."),
});

export function writeTool(guard: PathGuard, editor?: EditorFiles): Tool {
  return defineTool({
    name: "write",
    effects: "idempotent",
    label: "Write",
    description:
      "Writes a whole file. Creates missing folders and replaces an existing file. Use it for new files and complete rewrites; use edit to change a part.",
    parameters,
    async execute({ input: { path, content }, signal }) {
      if (/[/\\]$/.test(path))
        throw new Error(`${path} is a folder. Give the path of a file; missing folders are created.`);
      const file = await lookalikePath(guard, { toolName: "write", path, access: "write", signal });
      return inFileQueue(file.real, async () => {
        signal.throwIfAborted();
        return write(file, content, { signal, editor });
      });
    },
  });
}

async function write(
  file: GuardedPath,
  content: string,
  { signal, editor }: { signal: AbortSignal; editor: EditorFiles | undefined },
): Promise<ToolResult> {
  const { shown: path } = file;
  const bytes = Buffer.from(content);
  const before = await earlierFile(file, bytes.length);
  // The editor may have unsaved changes: it compares for itself.
  if (editor?.write === undefined && before?.bytes?.equals(bytes)) {
    const details = { path, created: false, added: 0, removed: 0 };
    return result(`${path} already has this content; nothing was written.`, details);
  }
  if (!(await editor?.write?.(file.real, content, signal))) await replaceFile(file, bytes);
  const size = shownBytes(bytes.length);
  const lines = countLines(content);
  if (before === undefined) {
    const details = { path, created: true, added: lines, removed: 0 };
    return result(`Created ${path} (${size}, ${shownLines(lines)}).`, details);
  }
  const isCompared = before.bytes !== undefined && !before.bytes.includes(0);
  const { added, removed, ...diff } = isCompared
    ? fileDiff(before.bytes!.toString(), content)
    : { diff: "", added: lines, removed: before.lines };
  return result(`Wrote ${path} (${size}): ${shownLines(added)} added, ${shownCount(removed)} removed.`, {
    ...{ path, created: false, added, removed, ...diff },
  });
}

function result(text: string, details: object): ToolResult {
  return { content: [{ type: "text", text }], details };
}

/** The file before a write, without its bytes if it is too large to compare. */
async function earlierFile(
  { real, shown }: GuardedPath,
  newBytes: number,
): Promise<{ lines: number; bytes?: Buffer | undefined } | undefined> {
  try {
    const stats = await stat(real);
    // The write refuses other kinds of files. Reading a pipe would hang.
    if (!stats.isFile()) return undefined;
    if (stats.size + newBytes > MAX_COMPARED_BYTES) return { lines: await linesOf(real) };
    const bytes = await readFile(real);
    return { lines: countLines(bytes.toString("latin1")), bytes };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw fileProblem("Writing", shown, error);
  }
}

/** Counts the lines of a large file piece by piece, up to `MAX_COUNTED_BYTES`. */
async function linesOf(path: string): Promise<number> {
  let lines = 0;
  const splitter = new LineSplitter(
    () => (lines += 1),
    () => 0,
  );
  const pieces = createReadStream(path, { end: MAX_COUNTED_BYTES - 1, highWaterMark: 1 << 20 });
  for await (const piece of pieces as AsyncIterable<Buffer>) splitter.push(piece);
  splitter.end();
  return lines;
}
