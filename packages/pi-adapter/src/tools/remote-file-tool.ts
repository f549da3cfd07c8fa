import { realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ToolResult } from "@bonsai-agent/agent";
import { inFileQueue } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import type { PiTool } from "./builtin-tool.ts";
import { formatSize, truncateHead } from "./truncate.ts";

/** Access to files elsewhere: over SSH, in a container. */
export interface FileOperations {
  access?(path: string): Promise<void>;
  readFile?(path: string): Promise<Buffer>;
  writeFile?(path: string, content: string): Promise<void>;
  mkdir?(folder: string): Promise<void>;
  detectImageMimeType?(path: string): Promise<string | null | undefined>;
}

type Operation = "readFile" | "writeFile";

/** A file tool that works through the extension's operations. Its name and input stay. */
export function remoteFileTool(local: PiTool, cwd: string, operations: FileOperations): PiTool {
  const work = { read, write, edit }[local.name as "read" | "write" | "edit"];
  const place = { cwd, operations };
  return {
    ...local,
    async execute(_id, params, signal) {
      const change = async () => {
        refuseAborted(signal);
        const result = await work(place, params as never);
        // The change is made, but an aborted call must not succeed.
        refuseAborted(signal);
        return result;
      };
      const file = resolve(cwd, (params as { path: string }).path);
      return local.name === "read" ? change() : inFileQueue(realPathOf(file), change);
    },
  };
}

/** pi's text: extensions compare it. */
function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new Error("Operation aborted");
}

interface Place {
  cwd: string;
  operations: FileOperations;
}

interface ReadInput {
  path: string;
  /** The first line, from 1. */
  offset?: number;
  limit?: number;
}

async function read({ cwd, operations }: Place, { path, offset = 1, limit }: ReadInput): Promise<ToolResult> {
  const file = resolve(cwd, path);
  await operations.access?.(file);
  const bytes = await needed(operations, "readFile")(file);
  const mimeType = await operations.detectImageMimeType?.(file);
  if (mimeType) {
    const data = bytes.toString("base64");
    const note = `Image ${path}: ${mimeType}, ${formatSize(bytes.length)}.`;
    return {
      content: [
        { type: "text", text: note },
        { type: "image", data, mimeType },
      ],
    };
  }
  const lines = bytes.toString("utf8").split("\n");
  if (offset > lines.length)
    throw new Error(`${path} has only ${lines.length} lines, so offset ${offset} is too large.`);
  const asked = lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit);
  const { content, outputLines, truncated, firstLineExceedsLimit } = truncateHead(asked.join("\n"));
  if (firstLineExceedsLimit)
    return text(`[Line ${offset} of ${path} is longer than ${formatSize(50 * 1024)}.]`);
  const next = offset + outputLines;
  return text(truncated ? `${content}\n\n[More lines follow. Continue with offset ${next}.]` : content);
}

async function write(
  { cwd, operations }: Place,
  { path, content }: { path: string; content: string },
): Promise<ToolResult> {
  const file = resolve(cwd, path);
  await operations.mkdir?.(dirname(file));
  await needed(operations, "writeFile")(file, content);
  return text(`Wrote ${formatSize(Buffer.byteLength(content))} to ${path}.`);
}

interface TextEdit {
  oldText: string;
  newText: string;
}

async function edit(
  { cwd, operations }: Place,
  { path, edits, ...single }: { path: string; edits?: TextEdit[] } & Partial<TextEdit>,
): Promise<ToolResult> {
  const file = resolve(cwd, path);
  await operations.access?.(file);
  let content = (await needed(operations, "readFile")(file)).toString("utf8");
  const all = edits ?? [single as TextEdit];
  for (const { oldText, newText } of all) {
    const parts = content.split(oldText);
    if (parts.length !== 2)
      throw new Error(
        `${path} contains this text ${parts.length - 1} times, but must contain it exactly once: ${oldText}`,
      );
    content = parts.join(newText);
  }
  await needed(operations, "writeFile")(file, content);
  return text(`Made ${all.length === 1 ? "1 edit" : `${all.length} edits`} in ${path}.`);
}

function needed<Name extends Operation>(
  operations: FileOperations,
  name: Name,
): NonNullable<FileOperations[Name]> {
  const operation = operations[name];
  if (operation !== undefined) return operation.bind(operations) as NonNullable<FileOperations[Name]>;
  throw new BonsaiError({
    code: "pi_operations_missing",
    message: `The extension's operations for a tool lack ${name}.`,
    hint: `Add ${name} to the operations.`,
  });
}

/** Synchronous, so that changes keep the order of their calls. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // A new file has no real path yet.
    return path;
  }
}

function text(content: string): ToolResult {
  return { content: [{ type: "text", text: content }] };
}
