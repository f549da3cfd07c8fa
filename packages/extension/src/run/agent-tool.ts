import type { Tool, ToolResult } from "@bonsai-agent/agent";
import type { ExtensionContext } from "../api/extension-context.ts";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { storable, toolResultOf } from "./tool-result.ts";

/** A tool of an extension as the agent runs it. */
export function agentTool(tool: ExtensionTool, context: (signal: AbortSignal) => ExtensionContext): Tool {
  const { name, label, description, promptSnippet, promptGuidelines, executionMode } = tool;
  return {
    name,
    description,
    parameters: tool.parameters as Tool["parameters"],
    ...(label === undefined ? {} : { label }),
    ...(promptSnippet === undefined ? {} : { promptSnippet }),
    ...(promptGuidelines === undefined ? {} : { promptGuidelines }),
    ...(executionMode === undefined ? {} : { executionMode }),
    ...(tool.prepareArguments === undefined
      ? {}
      : { prepareArguments: (args: unknown) => tool.prepareArguments!(args) }),
    async execute({ toolCallId, input, signal, onUpdate }) {
      const update = (partial: unknown) => {
        const result = toolResultOf(partial);
        if (result !== undefined) onUpdate(result);
      };
      const returned: unknown = await tool.execute(
        toolCallId,
        input as never,
        signal,
        update,
        context(signal),
      );
      const result = toolResultOf(returned);
      return result === undefined ? (returned as ToolResult) : storable(result);
    },
  };
}
