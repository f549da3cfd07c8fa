import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import { type GuardedPath, lookalikePath, type PathGuard } from "../path-guard.ts";
import { countLines, errorCode, fileProblem, shownBytes, shownCount, shownLines } from "../result-text.ts";
import { defineTool, type Tool, type ToolResult } from "../tool-registry.ts";
import { type FileDiff, fileDiff, inFileQueue, replaceFile } from "./file-change.ts";

/** Beyond it the lines that changed are not looked for. */
const MAX_COMPARED_BYTES = 5 << 20;
/** Beyond it the lines that went are not counted: nobody waits seconds for the number. */
const MAX_COUNTED_BYTES = 100 << 20;

const parameters = z.object({
  path: z.string().min(1).describe("The file, relative to the working folder or absolute."),
  content: z.string().describe("The whole new content."),
});

/** Details of a write, for people and programs. */
interface WriteDetails extends Partial<FileDiff> {
  path: string;
  created: boolean;
  /** Lines. */
  added: number;
  removed: number;
}

export function writeTool(guard: PathGuard): Tool {
  return defineTool({
    name: "write",
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
        return write(file, content);
      });
    },
  });
}

async function write(file: GuardedPath, content: string): Promise<ToolResult<WriteDetails>> {
  const bytes = Buffer.from(content);
  const before = await earlierFile(file, bytes.length);
  if (before?.bytes?.equals(bytes))
    return result(`${file.shown} already has this content; nothing was written.`, unchanged(file));
  await replaceFile(file, bytes);
  const size = shownBytes(bytes.length);
  if (before === undefined) {
    const details = { path: file.shown, created: true, added: countLines(content), removed: 0 };
    return result(`Created ${file.shown} (${size}, ${shownLines(details.added)}).`, details);
  }
  const { added, removed, ...diff } = difference(before, content);
  const details = { path: file.shown, created: false, added, removed, ...diff };
  return result(
    `Wrote ${file.shown} (${size}): ${shownLines(added)} added, ${shownCount(removed)} removed.`,
    details,
  );
}

function result(text: string, details: WriteDetails): ToolResult<WriteDetails> {
  return { content: [{ type: "text", text }], details };
}

function unchanged({ shown }: GuardedPath): WriteDetails {
  return { path: shown, created: false, added: 0, removed: 0 };
}

/** The file before a write. */
interface EarlierFile {
  lines: number;
  /** Absent where it is too large to be compared. */
  bytes?: Buffer | undefined;
}

async function earlierFile({ real, shown }: GuardedPath, newBytes: number): Promise<EarlierFile | undefined> {
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

/** At least so many: of a huge file the rest is not looked at, and no more than a piece is in memory. */
async function linesOf(path: string): Promise<number> {
  let lines = 0;
  let last: number | undefined;
  const pieces = createReadStream(path, { end: MAX_COUNTED_BYTES - 1, highWaterMark: 1 << 20 });
  for await (const piece of pieces as AsyncIterable<Buffer>) {
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines += 1;
    last = piece.at(-1) ?? last;
  }
  return last === undefined || last === 10 ? lines : lines + 1;
}

function difference({ bytes, lines }: EarlierFile, content: string): FileDiff {
  if (bytes === undefined || bytes.includes(0))
    return { diff: "", added: countLines(content), removed: lines };
  return fileDiff(bytes.toString(), content);
}
