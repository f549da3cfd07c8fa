import { resolve } from "node:path";
import { inFileQueue, startTree } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { type BuiltinToolName, builtinTool, type CommandOperations, type PiTool } from "./builtin-tool.ts";
import { type FileOperations, realPathOf, remoteFileTool } from "./remote-file-tool.ts";

interface SpawnContext {
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

interface BashOptions {
  operations?: CommandOperations;
  /** Precedes every command. */
  commandPrefix?: string;
  /** Changes the command, its folder and its environment. */
  spawnHook?(context: SpawnContext): SpawnContext;
}

/** Bonsai's bash tool, or one that runs its commands through operations. */
export function createBashTool(cwd: string, options: BashOptions = {}): PiTool {
  const { operations, commandPrefix, spawnHook = (context) => context } = options;
  return {
    ...builtinTool("bash", { cwd }),
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

/** Tools that change nothing. */
export function createReadOnlyTools(cwd: string): PiTool[] {
  return [createReadTool(cwd), createGrepTool(cwd), createFindTool(cwd), createLsTool(cwd)];
}

function fileTool(name: "read" | "write" | "edit") {
  return (cwd: string, { operations }: { operations?: FileOperations } = {}): PiTool => {
    const local = builtinTool(name, { cwd });
    return operations === undefined ? local : remoteFileTool(local, cwd, operations);
  };
}

/** A search reads thousands of files: Bonsai's tools do that on this machine only. */
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

/** Runs commands in a shell of this machine. */
export function createLocalBashOperations({ shellPath = "bash" } = {}): CommandOperations {
  return {
    async exec(command, cwd, { onData, signal, timeout, env = process.env }) {
      signal?.throwIfAborted();
      const args = ["-c", command];
      const tree = await startTree({
        ...{ command: shellPath, args, cwd, env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const { child } = tree;
      const { promise, resolve: end, reject } = Promise.withResolvers<{ exitCode: number | null }>();
      const stop = (why: string) => {
        reject(new Error(why));
        void tree.kill();
      };
      const onAbort = () => stop("aborted");
      const timer = timeout && setTimeout(() => stop(`timeout:${timeout}`), timeout * 1_000);
      signal?.addEventListener("abort", onAbort, { once: true });
      child.stdout!.on("data", onData);
      child.stderr!.on("data", onData);
      child.on("close", (exitCode) => end({ exitCode }));
      if (signal?.aborted) onAbort();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        tree.forget();
      }
    },
  };
}

interface ToolEvent {
  toolName: string;
}

/** True for calls of this tool. */
export function isToolCallEventType(toolName: string, event: ToolEvent): boolean {
  return event.toolName === toolName;
}

export function isBashToolResult(event: ToolEvent): boolean {
  return event.toolName === "bash";
}

/** Waits for earlier changes of the same file, also those of Bonsai's own tools. */
export async function withFileMutationQueue<Result>(
  filePath: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return inFileQueue(realPathOf(resolve(filePath)), work);
}
