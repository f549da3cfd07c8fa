import { type Tool, ToolRegistry, type ToolResult } from "@bonsai-agent/agent";
import { contentBlocks, type UserContent } from "@bonsai-agent/messages";
import { reportedUsage } from "@bonsai-agent/messages/host";
import { userContentSchema } from "@bonsai-agent/messages/schemas";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { tidyError } from "../load/generation.ts";
import { readableError } from "../load/thrown-error.ts";
import { badArgument } from "./extension-errors.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";
import { runOf } from "./extension-scope.ts";
import { laidOver, withSoundFields } from "./sound-fields.ts";

const isText = (value: unknown) => typeof value === "string";
const isBoolean = (value: unknown) => typeof value === "boolean";
const isFunction = (value: unknown) => typeof value === "function";
const isOneOf =
  (...words: unknown[]) =>
  (value: unknown) =>
    words.includes(value);

/** Checks of the optional fields. */
const optional = {
  label: [isText, "a string"],
  description: [isText, "a string"],
  promptSnippet: [isText, "a string"],
  promptGuidelines: [(value: unknown) => Array.isArray(value) && value.every(isText), "a list of strings"],
  checksArguments: [isBoolean, "true or false"],
  executionMode: [isOneOf("parallel", "sequential"), '"parallel" or "sequential"'],
  prepareArguments: [isFunction, "a function"],
  renderCall: [isFunction, "a function"],
  renderResult: [isFunction, "a function"],
  renderShell: [isOneOf("default", "self"), '"default" or "self"'],
} as const;

/** A tool without those optional fields that are none. One without a description is called by its label; one without parameters takes none. */
export function mendedTool(runtime: ExtensionRuntime, tool: ExtensionTool): ExtensionTool {
  if (typeof tool !== "object" || tool === null) return tool;
  const sound = withSoundFields(runtime, callOf(tool), tool, optional);
  if (sound.description && sound.parameters) return sound;
  const { name, label, description = label || name, parameters = { type: "object" } } = sound;
  return laidOver(sound, { description, parameters });
}

function callOf({ name }: ExtensionTool): string {
  return `registerTool({ name: ${JSON.stringify(name)}, … })`;
}

/**
 * A tool as the agent runs it.
 * @throws BonsaiError for what no agent could offer or run: it fails at once instead of in a run
 */
export function checkedTool(runtime: ExtensionRuntime, tool: ExtensionTool): Tool {
  const { scope } = runtime;
  if (typeof tool?.name !== "string")
    throw badArgument(scope, "registerTool", "a tool with a name (a string)", tool);
  const call = callOf(tool);
  if (typeof tool.execute !== "function")
    throw badArgument(scope, call, "a function as execute", tool.execute);
  if (isFieldsOfZod(tool.parameters))
    throw badArgument(scope, call, "parameters wrapped in z.object({…})", Object.keys(tool.parameters));
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
  const { prepareArguments, checksArguments } = tool;
  return {
    name,
    label,
    description,
    promptSnippet,
    promptGuidelines,
    executionMode,
    parameters: tool.parameters as Tool["parameters"],
    checksArguments,
    prepareArguments: prepareArguments
      ? (args: unknown) => called(runtime, () => prepareArguments.call(tool, args))
      : undefined,
    async execute({ toolCallId, input, signal, onUpdate }) {
      const update = (partial: unknown) => {
        const result = toolResultOf(partial);
        if (result !== undefined) onUpdate({ ...result, content: soundBlocks(result.content) });
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

function soundBlocks(content: unknown): UserContent[] {
  const blocks = contentBlocks(content).filter((block) => userContentSchema.safeParse(block).success);
  return blocks as unknown as UserContent[];
}

/** Without details and counts of tokens that cannot be stored: what the model sees is worth more than they. */
function storable({ usage, isError, ...result }: ToolResult): ToolResult {
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
    // The agent names what is nested too deep.
    if (error instanceof RangeError) return details;
    return { unstorable: readableError(error).message.split("\n")[0] };
  }
}
