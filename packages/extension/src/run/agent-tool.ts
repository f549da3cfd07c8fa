import type { Tool, ToolResult } from "@bonsai-agent/agent";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { tidyError } from "../load/generation.ts";
import { runOf } from "./extension-work.ts";
import type { ExtensionPlace } from "./room.ts";
import { storable, toolResultOf } from "./tool-result.ts";

/** A tool of an extension as the agent runs it. */
export function agentTool(tool: ExtensionTool, place: ExtensionPlace): Tool {
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
      : { prepareArguments: (args: unknown) => called(place, () => tool.prepareArguments!(args)) }),
    async execute({ toolCallId, input, signal, onUpdate }) {
      const update = (partial: unknown) => {
        const result = toolResultOf(partial);
        if (result !== undefined) onUpdate(result);
      };
      const context = place.context(signal);
      const returned: unknown = await called(place, () =>
        tool.execute(toolCallId, input as never, signal, update, context),
      );
      const result = toolResultOf(returned);
      return result === undefined ? (returned as ToolResult) : storable(result);
    },
  };
}

/** The agent tells the model what was thrown, by its message. */
function called<Result>({ scope }: ExtensionPlace, work: () => Result): Result {
  const tidied = (error: unknown): never => {
    tidyError(error);
    throw error;
  };
  try {
    const returned = runOf(scope, work);
    return returned instanceof Promise ? (returned.catch(tidied) as Result) : returned;
  } catch (error) {
    return tidied(error);
  }
}
