import { realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import {
  builtinTools,
  type ConfirmPath,
  type Tool,
  ToolRegistry,
  type ToolResult,
} from "@bonsai-agent/agent";
import { fitArguments, inFileQueue } from "@bonsai-agent/agent/host";
import { BonsaiError, contentText, isRecord } from "@bonsai-agent/messages";
import { confirmPathInUse } from "../models/requests.ts";
import type { BashOperations } from "./bash-operations.ts";
import { formatSize, truncateHead } from "./truncate.ts";

/** What a tool reports while it works and when it is done. */
type ToolUpdate = (partial: ToolResult) => void;

/** A tool in the shape in which pi hands its own tools to extensions. */
export interface PiTool {
  name: string;
  label: string;
  description: string;
  /** JSON Schema. */
  parameters: Readonly<Record<string, unknown>>;
  /** Mends what models write in the place of what the schema says. */
  prepareArguments(args: unknown): unknown;
  execute(
    toolCallId: string,
    params: unknown,
    signal?: AbortSignal,
    onUpdate?: ToolUpdate,
  ): Promise<ToolResult>;
}

export type BuiltinToolName = "read" | "write" | "edit" | "bash" | "grep" | "find" | "ls";

interface BuiltinToolOptions {
  cwd: string;
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv;
  /** Runs the commands of the bash tool. Default: a shell of this machine. */
  operations?: BashOperations | undefined;
}

/**
 * The user is asked, as for Bonsai's own tools; where nobody can be asked, it is refused. What an extension does outside
 * of any session is its own: it could open the file itself.
 */
const confirmPath: ConfirmPath = async (request) => {
  const confirm = confirmPathInUse();
  return confirm === undefined || confirm(request);
};

/** Bonsai's own tool for a folder. */
export function builtinTool(name: BuiltinToolName, { cwd, env, operations }: BuiltinToolOptions): PiTool {
  const tools = builtinTools({
    cwd,
    paths: { allow: [] },
    bash: { timeoutSeconds: 0, operations },
    env,
    confirmPath,
  });
  return piTool(tools.find((tool) => tool.name === name)!);
}

/** Bonsai's own tools have one of zod. */
interface InputSchema {
  parse(input: unknown): unknown;
  safeParse(input: unknown): { data?: unknown };
}

/** A tool as pi has it: what is an error here rejects there. */
function piTool(tool: Tool): PiTool {
  const { name, label = name, description } = tool;
  const checks = tool.parameters as InputSchema;
  const registry = new ToolRegistry();
  registry.register(tool);
  const { parameters } = registry.allTools()[0]!.declaration;
  const fit = (args: unknown) => (isRecord(args) ? fitArguments(args, parameters) : args);
  return {
    name,
    label,
    description,
    parameters,
    prepareArguments: (args) => checks.safeParse(fit(args)).data ?? args,
    // Extensions call it themselves, with unchecked input.
    async execute(toolCallId, params, signal = new AbortController().signal, onUpdate = () => {}) {
      const call = { toolCallId, input: checks.parse(fit(params)), signal, onUpdate };
      const result = await tool.execute(call).catch(withCode);
      if (result.isError !== true) return withTruncatedContent(result);
      const isAborted = (result.details as { end?: string } | undefined)?.end === "abort";
      throw new Error(`${contentText(result.content)}${isAborted ? "\nAborted." : ""}`);
    },
  };
}

/** Extensions look for the code of the system, such as ENOENT, in what a tool of pi throws. */
function withCode(error: unknown): never {
  if (!(error instanceof Error)) throw error;
  const { code } = {
    ...(error.cause as NodeJS.ErrnoException | undefined),
    ...(error as { code?: unknown }),
  };
  if (typeof code !== "string" || BonsaiError.is(error) || error.message.includes(code)) throw error;
  throw Object.assign(new Error(`${error.message} (${code})`, { cause: error }), { code });
}

/** pi has the text that is left in `details.truncation` too; stored it would stand in the session twice. */
function withTruncatedContent(result: ToolResult): ToolResult {
  const { truncation } = (result.details ?? {}) as { truncation?: object };
  if (truncation === undefined) return result;
  const content = contentText(result.content);
  return { ...result, details: { ...(result.details as object), truncation: { content, ...truncation } } };
}

/** Files that are somewhere else, as extensions of pi reach them: over SSH, in a container. */
export interface FileOperations {
  access?(path: string): Promise<void>;
  readFile?(path: string): Promise<Buffer>;
  writeFile?(path: string, content: string): Promise<void>;
  mkdir?(folder: string): Promise<void>;
  detectImageMimeType?(path: string): Promise<string | null | undefined>;
}

type Operation = "readFile" | "writeFile";

/** A file tool that works through operations of the extension's; the tool's name and input stay. */
export function remoteFileTool(local: PiTool, cwd: string, operations: FileOperations): PiTool {
  const work = { read, write, edit }[local.name as "read" | "write" | "edit"];
  const place = { cwd, operations };
  return {
    ...local,
    async execute(_id, params, signal) {
      const change = async () => {
        refuseAborted(signal);
        const result = await work(place, params as never);
        // What was under way is done; whoever aborted does not want to hear of it.
        refuseAborted(signal);
        return result;
      };
      const file = resolve(cwd, (params as { path: string }).path);
      return local.name === "read" ? change() : inFileQueue(realPathOf(file), change);
    },
  };
}

/** With the words by which extensions of pi know it. */
function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new Error("Operation aborted");
}

interface Place {
  cwd: string;
  operations: FileOperations;
}

interface ReadInput {
  path: string;
  /** Of the first line, from 1. */
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

/** Asked at once: two answers of the system that are waited for can come in the other order. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // A file that is still to be made has no real path yet.
    return path;
  }
}

function text(content: string): ToolResult {
  return { content: [{ type: "text", text: content }] };
}
