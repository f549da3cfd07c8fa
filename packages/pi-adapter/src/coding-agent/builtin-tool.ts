import { builtinTools, type Tool, type ToolResult } from "@bonsai-agent/agent";

/** What a tool reports while it works and when it is done. */
export type ToolUpdate = (partial: ToolResult) => void;

/** A tool in the shape in which pi hands its own tools to extensions. */
export interface PiTool {
  name: string;
  label: string;
  description: string;
  parameters: Tool["parameters"];
  execute(
    toolCallId: string,
    params: unknown,
    signal?: AbortSignal,
    onUpdate?: ToolUpdate,
  ): Promise<ToolResult>;
}

export type BuiltinToolName = "read" | "write" | "edit" | "bash" | "grep" | "find" | "ls";

export interface BuiltinToolOptions {
  cwd: string;
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv;
}

/** Bonsai's own tool for a folder. Paths outside of it are refused, for nobody can be asked here. */
export function builtinTool(name: BuiltinToolName, { cwd, env }: BuiltinToolOptions): PiTool {
  const tools = builtinTools({
    cwd,
    paths: { allow: [] },
    bash: { timeoutSeconds: 0 },
    ...(env === undefined ? {} : { env }),
  });
  return piTool(tools.find((tool) => tool.name === name)!);
}

function piTool(tool: Tool): PiTool {
  const { name, label = name, description, parameters } = tool;
  return {
    name,
    label,
    description,
    parameters,
    execute: async (toolCallId, params, signal = new AbortController().signal, onUpdate = () => {}) =>
      tool.execute({ toolCallId, input: checked(parameters, params), signal, onUpdate }),
  };
}

/** Extensions call the tools themselves, so that nobody has checked the input yet. */
function checked(parameters: Tool["parameters"], params: unknown): unknown {
  return "parse" in parameters && typeof parameters.parse === "function" ? parameters.parse(params) : params;
}
