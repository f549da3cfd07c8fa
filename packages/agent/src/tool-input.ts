import { MALFORMED_ARGUMENTS } from "@bonsai-agent/models";
import { z } from "zod";
import type { Tool } from "./tool.ts";
import { isZod } from "./tool-registry.ts";

export type CheckedInput = { ok: true; input: unknown } | { ok: false; problem: string };

/** The arguments of a call as its tool takes them, or what is wrong with them, in words for the model. */
export function checkedInput(tool: Tool, input: Record<string, unknown>): CheckedInput {
  if (MALFORMED_ARGUMENTS in input) {
    return {
      ok: false,
      problem:
        "The arguments are no JSON object, or they were cut off. Repeat the call with complete arguments; send long contents in smaller pieces.",
    };
  }
  const result = schemaOf(tool).safeParse(input);
  if (result.success) return { ok: true, input: result.data };
  return { ok: false, problem: `Wrong arguments for ${tool.name}: ${z.prettifyError(result.error)}` };
}

const schemas = new WeakMap<Tool, z.ZodType>();

function schemaOf(tool: Tool): z.ZodType {
  const known = schemas.get(tool);
  if (known !== undefined) return known;
  const schema = isZod(tool.parameters) ? tool.parameters : z.fromJSONSchema(tool.parameters as never);
  schemas.set(tool, schema);
  return schema;
}
