import { type Tool, ToolRegistry, type ToolResult } from "@bonsai-agent/agent";
import { usageSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { tidyError } from "../load/generation.ts";
import { readableError } from "../load/thrown-error.ts";
import { badArgument } from "./extension-errors.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";
import { runOf } from "./extension-scope.ts";

/** What may be left out, and what each is. */
const others = {
  label: [z.string(), "a text"],
  promptSnippet: [z.string(), "a text"],
  promptGuidelines: [z.array(z.string()), "a list of texts"],
  executionMode: [z.enum(["parallel", "sequential"]), '"parallel" or "sequential"'],
  prepareArguments: [z.custom((value) => typeof value === "function"), "a function"],
  renderCall: [z.custom((value) => typeof value === "function"), "a function"],
  renderResult: [z.custom((value) => typeof value === "function"), "a function"],
  renderShell: [z.enum(["default", "self"]), '"default" or "self"'],
} as const;

/**
 * A tool as the agent runs it.
 * @throws BonsaiError for what no agent could offer or run: better now than in the middle of a run
 */
export function checkedTool(runtime: ExtensionRuntime, tool: ExtensionTool): Tool {
  const { scope } = runtime;
  const call = `registerTool({ name: ${JSON.stringify(tool?.name)}, … })`;
  if (typeof tool?.name !== "string") throw badArgument(scope, "registerTool", "a tool with a name", tool);
  if (typeof tool.description !== "string")
    throw badArgument(scope, call, "a description, a text for the model", tool.description);
  if (typeof tool.execute !== "function") throw badArgument(scope, call, "execute, a function", tool.execute);
  if (isFieldsOfZod(tool.parameters))
    throw badArgument(scope, call, "parameters with z.object({…}) around them", Object.keys(tool.parameters));
  for (const [field, [schema, wanted]] of Object.entries(others)) {
    const value = tool[field as keyof typeof others];
    if (!schema.nullish().safeParse(value).success)
      throw badArgument(scope, call, `${field}, ${wanted}`, value);
  }
  const forAgent = agentTool(tool, runtime);
  // Whether an agent takes its name and parameters shows at once, also where there is no agent yet.
  new ToolRegistry().register(forAgent);
  return forAgent;
}

/** Read as JSON Schema these would be an object without properties, and the model would not know what to give. */
function isFieldsOfZod(parameters: unknown): parameters is object {
  if (typeof parameters !== "object" || parameters === null || "_zod" in parameters) return false;
  return Object.values(parameters).some(
    (value) => typeof value === "object" && value !== null && "_zod" in value,
  );
}

/** A tool of an extension as the agent runs it. */
function agentTool(tool: ExtensionTool, runtime: ExtensionRuntime): Tool {
  const { name, label, description, promptSnippet, promptGuidelines, executionMode } = tool;
  const { prepareArguments } = tool;
  return {
    name,
    label,
    description,
    promptSnippet,
    promptGuidelines,
    executionMode,
    parameters: tool.parameters as Tool["parameters"],
    prepareArguments: prepareArguments
      ? (args: unknown) => called(runtime, () => prepareArguments.call(tool, args))
      : undefined,
    async execute({ toolCallId, input, signal, onUpdate }) {
      const update = (partial: unknown) => {
        const result = toolResultOf(partial);
        if (result !== undefined) onUpdate(result);
      };
      const context = runtime.context(signal);
      const returned: unknown = await called(runtime, () =>
        tool.execute(toolCallId, input as never, signal, update, context),
      );
      const result = toolResultOf(returned);
      return result === undefined ? (returned as ToolResult) : storable(result);
    },
  };
}

/** The model gets the message of what was thrown. */
function called<Result>({ scope }: ExtensionRuntime, work: () => Result): Result {
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

/**
 * What a tool gave back, as a result: a text alone is one. Undefined for what cannot be one; the agent answers
 * the model then.
 */
function toolResultOf(returned: unknown): ToolResult | undefined {
  if (typeof returned === "string") return { content: [{ type: "text", text: returned }] };
  if (typeof returned !== "object" || returned === null) return undefined;
  const { content, ...others } = returned as ToolResult;
  const given: unknown = content;
  return { ...others, content: typeof given === "string" ? [{ type: "text", text: given }] : content };
}

/** Without details and counts of tokens that cannot be stored: what the model sees is worth more than they. */
function storable({ usage, isError, ...result }: ToolResult): ToolResult {
  return {
    ...result,
    ...("details" in result ? { details: storableDetails(result.details) } : {}),
    ...(isError === undefined ? {} : { isError: Boolean(isError) }),
    ...(usage !== undefined && usageSchema.safeParse(usage).success ? { usage } : {}),
  };
}

function storableDetails(details: unknown): unknown {
  try {
    JSON.stringify(details);
    return details;
  } catch (error) {
    // The agent names what is nested too deep.
    if (error instanceof RangeError) return details;
    return { unstorable: readableError(error).message.split("\n")[0] };
  }
}
