import { deepCopy, MAX_LEVELS } from "@bonsai-agent/messages";
import { MALFORMED_ARGUMENTS } from "@bonsai-agent/models";
import { z } from "zod";
import type { Tool } from "./tool.ts";
import { readParameters } from "./tool-parameters.ts";

export type CheckedInput = { ok: true; input: unknown } | { ok: false; problem: string };

/** The arguments of a call as its tool takes them, or what is wrong with them, in words for the model. */
export function checkedInput(tool: Tool, input: Record<string, unknown>): CheckedInput {
  if (MALFORMED_ARGUMENTS in input) {
    return {
      ok: false,
      problem: malformed(input[MALFORMED_ARGUMENTS]),
    };
  }
  const result = readParameters(tool).schema.safeParse(input);
  if (result.success) return { ok: true, input: result.data };
  return { ok: false, problem: `Wrong arguments for ${tool.name}: ${z.prettifyError(result.error)}` };
}

/** Whole JSON objects are malformed only where they are nested too deep. */
function malformed(text: unknown): string {
  if (isJsonObject(text))
    return `The arguments are nested deeper than ${MAX_LEVELS} levels. Repeat the call with flatter arguments; send what is nested as a text.`;
  return "The arguments are no JSON object, or they were cut off. Repeat the call with complete arguments; send long contents in smaller pieces.";
}

function isJsonObject(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/**
 * The arguments as a guard is to see them: what the tool made of what the model said, as a copy.
 * @throws what `prepareArguments` throws.
 */
export function preparedInput({ name, prepareArguments }: Tool, args: unknown): Record<string, unknown> {
  const input = deepCopy(args) as Record<string, unknown>;
  if (prepareArguments === undefined || MALFORMED_ARGUMENTS in input) return input;
  const prepared: unknown = prepareArguments(input);
  if (typeof prepared === "object" && prepared !== null && !Array.isArray(prepared))
    return prepared as Record<string, unknown>;
  throw new TypeError(`The tool ${name} made no object of the arguments.`);
}
