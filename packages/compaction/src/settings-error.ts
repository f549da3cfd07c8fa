import { BonsaiError } from "@bonsai-agent/messages";
import type { z } from "zod";

/** The first fault of a `compaction` setting, as an error that names key, finding and what is allowed. */
export function settingsError(error: z.ZodError, input: unknown, schema: z.ZodObject): BonsaiError {
  const issue = error.issues[0]!;
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...issue.path, ...(unknown === undefined ? [] : [unknown])];
  const key = ["compaction", ...path].join(".");
  const found = JSON.stringify(valueAt(input, path)) ?? "nothing";
  const allowed =
    unknown === undefined ? allowedValues(issue) : `one of the keys ${keysAt(schema, issue.path)}`;
  return new BonsaiError({
    code: "compaction_setting_invalid",
    message: `The setting ${key} is ${found}; allowed is ${allowed}.`,
    hint: `Correct or remove ${key} in the settings file.`,
    cause: error,
  });
}

function allowedValues(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_value":
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_type":
      return issue.expected === "int" ? "a whole number" : `a value of type ${issue.expected}`;
    case "too_small":
      return `at least ${issue.minimum}`;
    case "too_big":
      return `at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], input);
}

function keysAt(schema: z.ZodObject, path: readonly PropertyKey[]): string {
  const inner = path.reduce<unknown>((value, key) => unwrapped(value)?.shape[String(key)], schema);
  return Object.keys(unwrapped(inner)?.shape ?? {}).join(", ");
}

/** The object schema below defaults. */
function unwrapped(schema: unknown): z.ZodObject | undefined {
  const inner = schema as { shape?: unknown; unwrap?: () => unknown } | undefined;
  if (inner?.shape !== undefined) return inner as z.ZodObject;
  return inner?.unwrap === undefined ? undefined : unwrapped(inner.unwrap());
}
