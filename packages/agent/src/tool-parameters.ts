import { BonsaiError } from "@bonsai-agent/messages";
import { z } from "zod";
import type { Tool } from "./tool.ts";

/** A tool's parameters, in both of their uses. */
export interface ReadParameters {
  /** Checks the arguments of a call. */
  schema: z.ZodType;
  /** As the model is told of them: plain JSON Schema. */
  declared: Readonly<Record<string, unknown>>;
}

const known = new WeakMap<object, ReadParameters>();

/** @throws BonsaiError `tool_parameters_invalid` */
export function readParameters({ name, parameters }: Pick<Tool, "name" | "parameters">): ReadParameters {
  const read = typeof parameters === "object" && parameters !== null ? known.get(parameters) : undefined;
  if (read !== undefined) return read;
  try {
    const fresh = checked(isZod(parameters) ? ofZod(parameters) : ofJsonSchema(parameters));
    known.set(parameters, fresh);
    return fresh;
  } catch (cause) {
    throw new BonsaiError({
      code: "tool_parameters_invalid",
      message: `The parameters of the tool ${name} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: "Give a zod 4 object, a TypeBox object, or the JSON Schema of an object.",
      cause,
    });
  }
}

function ofZod(schema: z.ZodType): ReadParameters {
  const { $schema: _dialect, ...declared } = z.toJSONSchema(schema, { io: "input" });
  return { schema, declared };
}

function ofJsonSchema(parameters: unknown): ReadParameters {
  if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters))
    throw new TypeError(`they are ${Array.isArray(parameters) ? "an array" : String(parameters)}.`);
  if ("safeParse" in parameters) throw new TypeError("they are a schema of another version of zod.");
  const declared = JSON.parse(JSON.stringify(parameters, withoutMarks)) as Record<string, unknown>;
  return { schema: z.fromJSONSchema(declared as never), declared };
}

/** TypeBox notes under such keys what its types are; no provider knows them. */
const MARK = /^~(?:kind|optional|readonly|immutable|unsafe|refine|codec|base|guard|hint|standard)$/;

function withoutMarks(key: string, value: unknown): unknown {
  return MARK.test(key) ? undefined : value;
}

/** Providers take objects alone. */
function checked({ schema, declared }: ReadParameters): ReadParameters {
  const { type, properties = {} } = declared;
  if (type !== undefined && type !== "object")
    throw new TypeError(`they are of the type ${JSON.stringify(type)}, not an object.`);
  if (typeof properties !== "object" || properties === null || Array.isArray(properties))
    throw new TypeError(`their properties are ${JSON.stringify(properties)}, not an object.`);
  const isBare = type === undefined && !("anyOf" in declared || "allOf" in declared || "oneOf" in declared);
  return { schema, declared: isBare && !("$ref" in declared) ? { type: "object", ...declared } : declared };
}

function isZod(parameters: unknown): parameters is z.ZodType {
  return typeof parameters === "object" && parameters !== null && "_zod" in parameters;
}
