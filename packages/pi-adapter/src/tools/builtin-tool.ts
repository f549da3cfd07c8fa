import {
  builtinTools,
  type ConfirmPath,
  type Tool,
  ToolRegistry,
  type ToolResult,
} from "@bonsai-agent/agent";
import { fitArguments } from "@bonsai-agent/agent/host";
import { BonsaiError, contentText, isRecord } from "@bonsai-agent/messages";
import { inUse } from "../context-in-use.ts";

type BonsaiOperations = NonNullable<Parameters<typeof builtinTools>[0]["bash"]["operations"]>;

/** Runs commands for an extension. Unlike Bonsai's own operations, it can be called without a signal. */
export interface CommandOperations {
  exec(
    command: string,
    cwd: string,
    options: Omit<Parameters<BonsaiOperations["exec"]>[2], "signal"> & { signal?: AbortSignal },
  ): Promise<{ exitCode: number | null }>;
}

/** A tool in the shape of pi's own tools. */
export interface PiTool {
  name: string;
  label: string;
  description: string;
  /** JSON Schema. */
  parameters: Readonly<Record<string, unknown>>;
  /** Repairs arguments that do not follow the schema. */
  prepareArguments(args: unknown): unknown;
  execute(
    toolCallId: string,
    params: unknown,
    signal?: AbortSignal,
    onUpdate?: (partial: ToolResult) => void,
  ): Promise<ToolResult>;
}

export type BuiltinToolName = "read" | "write" | "edit" | "bash" | "grep" | "find" | "ls";

interface BuiltinToolOptions {
  cwd: string;
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv;
  /** Runs the commands of the bash tool. Default: a shell of this machine. */
  operations?: CommandOperations | undefined;
}

/** Asks the user of the session. Outside of a session all is allowed: an extension can open the file itself. */
const confirmPath: ConfirmPath = async (request) => {
  const used = inUse();
  return used === undefined || used.extension.confirmPath?.(request);
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

/** The zod schema of a built-in tool. */
interface InputSchema {
  parse(input: unknown): unknown;
  safeParse(input: unknown): { data?: unknown };
}

/** Converts a built-in tool. Error results become rejections. */
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
    // Extensions call it with unchecked input.
    async execute(toolCallId, params, signal = new AbortController().signal, onUpdate = () => {}) {
      const call = { toolCallId, input: checks.parse(fit(params)), signal, onUpdate };
      const result = await tool.execute(call).catch(withCode);
      if (result.isError !== true) return withTruncatedContent(result);
      const isAborted = (result.details as { end?: string } | undefined)?.end === "abort";
      throw new Error(`${contentText(result.content)}${isAborted ? "\nAborted." : ""}`);
    },
  };
}

/** Extensions expect the system's code, such as ENOENT, in a tool's error. */
function withCode(error: unknown): never {
  if (!(error instanceof Error)) throw error;
  const { code } = {
    ...(error.cause as NodeJS.ErrnoException | undefined),
    ...(error as { code?: unknown }),
  };
  if (typeof code !== "string" || BonsaiError.is(error) || error.message.includes(code)) throw error;
  throw Object.assign(new Error(`${error.message} (${code})`, { cause: error }), { code });
}

/** pi repeats the shown text in `details.truncation`. Bonsai's results omit it: sessions would store the text twice. */
function withTruncatedContent(result: ToolResult): ToolResult {
  const { truncation } = (result.details ?? {}) as { truncation?: object };
  if (truncation === undefined) return result;
  const content = contentText(result.content);
  return { ...result, details: { ...(result.details as object), truncation: { content, ...truncation } } };
}
