import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import { defineTool, type Tool, type ToolResult } from "../tool.ts";
import { type FileDiff, fileDiff } from "./file-diff.ts";
import { errorCode, fileProblem } from "./file-problem.ts";
import { inFileQueue } from "./file-queue.ts";
import type { GuardedPath, PathGuard } from "./path-guard.ts";
import { replaceFile } from "./replace-file.ts";
import { countLines, shownBytes, shownCount, shownLines } from "./text-limits.ts";
import { toolInput } from "./tool-input.ts";

/** Beyond it the lines that changed are not looked for. */
const MAX_COMPARED_BYTES = 5 << 20;

const parameters = toolInput({
  path: z.string().min(1).describe("The file, relative to the working folder or absolute."),
  content: z.string().describe("The whole new content."),
});

/** What people and programs see of a write. */
export interface WriteDetails extends Partial<FileDiff> {
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
      "Writes a whole file; makes its folders, replaces what was there. For new files and complete rewrites: use edit to change a part.",
    parameters,
    async execute({ input: { path, content }, signal }) {
      if (/[/\\]$/.test(path))
        throw new Error(`${path} names a folder. Give the path of a file; its folders are made with it.`);
      const file = await guard({ toolName: "write", path, access: "write", signal });
      return inFileQueue(file.real, async () => {
        signal.throwIfAborted();
        return write(file, content);
      });
    },
  });
}

async function write(file: GuardedPath, content: string): Promise<ToolResult<WriteDetails>> {
  const bytes = Buffer.from(content);
  const before = await earlierBytes(file);
  if (before?.equals(bytes))
    return result(`${file.shown} has this content already; nothing was written.`, unchanged(file));
  await replaceFile(file, bytes);
  const size = shownBytes(bytes.length);
  if (before === undefined) {
    const details = { path: file.shown, created: true, added: countLines(content), removed: 0 };
    return result(`Created ${file.shown} (${size}, ${shownLines(details.added)}).`, details);
  }
  const { added, removed, ...diff } = difference(before, bytes, content);
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

async function earlierBytes({ real, shown }: GuardedPath): Promise<Buffer | undefined> {
  try {
    const stats = await stat(real);
    // What is no regular file is refused when it is written to, and must not be read: a pipe would hang.
    return stats.isFile() ? await readFile(real) : undefined;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw fileProblem("Writing", shown, error);
  }
}

function difference(before: Buffer, after: Buffer, content: string): FileDiff {
  if (before.length + after.length > MAX_COMPARED_BYTES || before.includes(0)) {
    return { diff: "", added: countLines(content), removed: countLines(before.toString("latin1")) };
  }
  return fileDiff(before.toString(), content);
}
