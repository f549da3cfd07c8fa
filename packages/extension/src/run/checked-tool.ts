import { type Tool, ToolRegistry } from "@bonsai-agent/agent";
import { z } from "zod";
import type { ExtensionTool } from "../api/extension-tool.ts";
import { agentTool } from "./agent-tool.ts";
import { badArgument } from "./bad-argument.ts";
import type { ExtensionPlace } from "./room.ts";

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
export function checkedTool(place: ExtensionPlace, tool: ExtensionTool): Tool {
  const { scope } = place;
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
  const forAgent = agentTool(tool, place);
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
