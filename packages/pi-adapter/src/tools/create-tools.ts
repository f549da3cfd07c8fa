import { resolve } from "node:path";
import { inFileQueue } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import type { BashOperations } from "./bash-operations.ts";
import {
  type BuiltinToolName,
  builtinTool,
  type FileOperations,
  type PiTool,
  realPathOf,
  remoteFileTool,
} from "./builtin-tools.ts";

interface SpawnContext {
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

interface BashOptions {
  operations?: BashOperations;
  /** Stands before every command. */
  commandPrefix?: string;
  /** Changes what is run, where, and with which environment. */
  spawnHook?(context: SpawnContext): SpawnContext;
}

/** Bonsai's bash tool, or one that runs its commands through operations. */
export function createBashTool(cwd: string, options: BashOptions = {}): PiTool {
  const { operations, commandPrefix, spawnHook = (context) => context } = options;
  const local = builtinTool("bash", { cwd });
  return {
    ...local,
    async execute(toolCallId, params, signal, onUpdate) {
      const input = params as { command: string; timeout?: number };
      const command = commandPrefix === undefined ? input.command : `${commandPrefix}\n${input.command}`;
      const place = spawnHook({ command, cwd, env: { ...process.env } });
      const tool = builtinTool("bash", { ...place, operations });
      return tool.execute(toolCallId, { ...input, command: place.command }, signal, onUpdate);
    },
  };
}

export const createReadTool = fileTool("read");
export const createWriteTool = fileTool("write");
export const createEditTool = fileTool("edit");
export const createGrepTool = searchTool("grep");
export const createFindTool = searchTool("find");
export const createLsTool = searchTool("ls");

/** What changes files and runs commands. */
export function createCodingTools(cwd: string): PiTool[] {
  return [createReadTool(cwd), createBashTool(cwd), createEditTool(cwd), createWriteTool(cwd)];
}

/** What only looks. */
export function createReadOnlyTools(cwd: string): PiTool[] {
  return [createReadTool(cwd), createGrepTool(cwd), createFindTool(cwd), createLsTool(cwd)];
}

function fileTool(name: BuiltinToolName) {
  return (cwd: string, { operations }: { operations?: FileOperations } = {}): PiTool => {
    const local = builtinTool(name, { cwd });
    return operations === undefined ? local : remoteFileTool(local, cwd, operations);
  };
}

/** Searching goes through files by the thousand: Bonsai's tools do that on this machine alone. */
function searchTool(name: BuiltinToolName) {
  return (cwd: string, { operations }: { operations?: object } = {}): PiTool => {
    if (operations === undefined) return builtinTool(name, { cwd });
    throw new BonsaiError({
      code: "pi_operations_missing",
      message: `Bonsai's tool ${name} does not support operations.`,
      hint: `Register your own tool named ${name}.`,
    });
  };
}

interface ToolEvent {
  toolName: string;
}

/** True for calls of this tool. */
export function isToolCallEventType(toolName: string, event: ToolEvent): boolean {
  return event.toolName === toolName;
}

const isResultOf =
  (toolName: string) =>
  (event: ToolEvent): boolean =>
    event.toolName === toolName;

export const isBashToolResult = isResultOf("bash");
export const isPowerShellToolResult = isResultOf("powershell");
export const isReadToolResult = isResultOf("read");
export const isEditToolResult = isResultOf("edit");
export const isWriteToolResult = isResultOf("write");
export const isGrepToolResult = isResultOf("grep");
export const isFindToolResult = isResultOf("find");
export const isLsToolResult = isResultOf("ls");

/** Runs when everybody who asked for the same file before is done, Bonsai's own tools included. */
export async function withFileMutationQueue<Result>(
  filePath: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return inFileQueue(realPathOf(resolve(filePath)), work);
}
