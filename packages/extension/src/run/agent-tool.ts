import type { Tool, ToolResult } from "@bonsai-agent/agent";
import type { ExtensionContext } from "../api/extension-context.ts";
import type { ExtensionTool } from "../api/extension-tool.ts";

/** A tool of an extension as the agent runs it. */
export function agentTool(tool: ExtensionTool, context: (signal: AbortSignal) => ExtensionContext): Tool {
  const { name, label, description, executionMode } = tool;
  return {
    name,
    description,
    parameters: tool.parameters as Tool["parameters"],
    ...(label === undefined ? {} : { label }),
    ...(executionMode === undefined ? {} : { executionMode }),
    async execute({ toolCallId, input, signal, onUpdate }) {
      const update = (partial: unknown) => onUpdate(partial as ToolResult);
      return tool.execute(toolCallId, input as never, signal, update, context(signal));
    },
  };
}
