import { BonsaiError } from "@bonsai-agent/messages";
import { z } from "zod";
import type { ToolParameters } from "../api/extension-tool.ts";

/**
 * Looks at a tool's parameters when it is registered: a schema that cannot be read would otherwise break each of the
 * model's requests.
 * @throws BonsaiError `tool_parameters_invalid`
 */
export function checkParameters(source: string, toolName: string, parameters: ToolParameters): void {
  const problem = problemOf(parameters);
  if (problem === undefined) return;
  throw new BonsaiError({
    code: "tool_parameters_invalid",
    message: `The parameters of the tool ${toolName} of ${source} cannot be used: ${problem.what}.`,
    hint: "Give z.object({…}) of zod 4, Type.Object({…}) of TypeBox, or the JSON Schema of an object.",
    ...(problem.cause === undefined ? {} : { cause: problem.cause }),
  });
}

interface Problem {
  what: string;
  cause?: unknown;
}

function problemOf(parameters: unknown): Problem | undefined {
  if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters))
    return { what: `they are ${Array.isArray(parameters) ? "an array" : `of type ${typeof parameters}`}` };
  if ("_zod" in parameters)
    return typeProblem(() => z.toJSONSchema(parameters as z.ZodType, { io: "input" }));
  if ("_def" in parameters) return { what: "they are a schema of zod 3" };
  if (
    Object.values(parameters).some((value) => typeof value === "object" && value !== null && "_zod" in value)
  )
    return { what: "they are the fields of an object, not a schema; write z.object({…}) around them" };
  return typeProblem(() => {
    z.fromJSONSchema(parameters as never);
    JSON.stringify(parameters);
    return parameters;
  });
}

/** Every provider wants the schema of an object. */
function typeProblem(jsonSchema: () => object): Problem | undefined {
  try {
    const { type } = jsonSchema() as { type?: unknown };
    if (type === "object") return undefined;
    return { what: `their type is ${type === undefined ? "not said" : JSON.stringify(type)}, not "object"` };
  } catch (cause) {
    return { what: cause instanceof Error ? cause.message.replace(/\.$/, "") : String(cause), cause };
  }
}
