import { type Tool, ToolRegistry, type ToolResult } from "@bonsai-agent/agent";
import { contentBlocks, type UserContent } from "@bonsai-agent/messages";
import { reportedUsage } from "@bonsai-agent/messages/host";
import { userContentSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { tidyError } from "../load/generation.ts";
import { readableError } from "../load/thrown-error.ts";
import { badArgument, checkOptions } from "./extension-errors.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";
import { runOf } from "./extension-scope.ts";

const text = z.string("a string").nullish();
const method = z.custom((value) => typeof value === "function", "a function");
const toolSchema = z.object({
  name: z.string("a string"),
  execute: method,
  label: text,
  description: text,
  promptSnippet: text,
  promptGuidelines: z.array(z.string("a list of strings"), "a list of strings").nullish(),
  prepareArguments: method.nullish(),
});

/** Returns a tool as the agent runs it. @throws BonsaiError if no agent could offer or run it */
export function validateTool(runtime: ExtensionRuntime, tool: ExtensionTool): Tool {
  const { scope } = runtime;
  const call = `registerTool({ name: ${JSON.stringify(tool?.name)}, … })`;
  checkOptions(scope, call, tool, toolSchema);
  if (isFieldsOfZod(tool.parameters))
    throw badArgument(scope, call, "parameters wrapped in z.object({…})", Object.keys(tool.parameters));
  const forAgent = agentTool(tool, runtime);
  // Checks name and parameters now, also if there is no agent yet.
  new ToolRegistry().register(forAgent);
  return forAgent;
}

/** As JSON Schema, these fields would be an object without properties. */
function isFieldsOfZod(parameters: unknown): parameters is object {
  if (typeof parameters !== "object" || parameters === null || "_zod" in parameters) return false;
  return Object.values(parameters).some(
    (value) => typeof value === "object" && value !== null && "_zod" in value,
  );
}

function agentTool(tool: ExtensionTool, runtime: ExtensionRuntime): Tool {
  const { name, label, promptSnippet, promptGuidelines, executionMode, effects } = tool;
  const { prepareArguments, checksArguments } = tool;
  return {
    name,
    label,
    description: tool.description || label || name,
    promptSnippet,
    promptGuidelines,
    executionMode,
    effects,
    parameters: (tool.parameters ?? { type: "object" }) as Tool["parameters"],
    checksArguments,
    prepareArguments: prepareArguments
      ? (args: unknown) => called(runtime, () => prepareArguments.call(tool, args))
      : undefined,
    async execute({ toolCallId, input, signal, onUpdate }) {
      const update = (partial: unknown) => {
        const result = toolResultOf(partial);
        if (result !== undefined) onUpdate({ ...result, content: validBlocks(result.content) });
      };
      const context = runtime.context(signal);
      const returned: unknown = await called(runtime, () =>
        tool.execute(toolCallId, input as never, signal, update, context),
      );
      const result = toolResultOf(returned);
      return result === undefined ? (returned as ToolResult) : withoutUnstorable(result);
    },
  };
}

/** Runs code of a tool. The model gets the message of a thrown error. */
function called<Result>({ scope }: ExtensionRuntime, work: () => Result): Result {
  const rethrow = (error: unknown): never => {
    tidyError(error);
    throw error;
  };
  try {
    const returned = runOf(scope, work);
    return returned instanceof Promise ? (returned.catch(rethrow) as Result) : returned;
  } catch (error) {
    return rethrow(error);
  }
}

/** Returns a tool's value as a result; a text is one too. Undefined for other values: the agent answers the model then. */
function toolResultOf(returned: unknown): ToolResult | undefined {
  if (typeof returned === "string") return { content: [{ type: "text", text: returned }] };
  if (typeof returned !== "object" || returned === null) return undefined;
  const { content, ...others } = returned as ToolResult;
  const given: unknown = content;
  return { ...others, content: typeof given === "string" ? [{ type: "text", text: given }] : content };
}

function validBlocks(content: unknown): UserContent[] {
  const blocks = contentBlocks(content).filter((block) => userContentSchema.safeParse(block).success);
  return blocks as unknown as UserContent[];
}

/** Drops details and token counts that cannot be stored. */
function withoutUnstorable({ usage, isError, ...result }: ToolResult): ToolResult {
  const counted = reportedUsage(usage);
  return {
    ...result,
    ...("details" in result ? { details: storableDetails(result.details) } : {}),
    ...(isError === undefined ? {} : { isError: Boolean(isError) }),
    ...(counted === undefined ? {} : { usage: counted }),
  };
}

function storableDetails(details: unknown): unknown {
  try {
    JSON.stringify(details);
    return details;
  } catch (error) {
    // The agent reports details that are nested too deep.
    if (error instanceof RangeError) return details;
    return { unstorable: readableError(error).message.split("\n")[0] };
  }
}
