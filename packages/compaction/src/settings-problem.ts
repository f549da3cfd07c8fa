import { type BonsaiErrorOptions, jsonText } from "@bonsai-agent/messages";
import type { z } from "zod";

export interface SettingsProblemOptions {
  error: z.ZodError;
  /** What was validated. */
  input: unknown;
  schema: z.ZodObject;
  /** Where the validated part stands in the settings. Default: it is the whole. */
  section?: string;
}

/** What is wrong with settings, as the parts of a BonsaiError: its message names key, finding and what is allowed. */
export function settingsProblem({
  error,
  input,
  schema,
  section,
}: SettingsProblemOptions): Omit<BonsaiErrorOptions, "code"> {
  const issue = error.issues[0]!;
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...issue.path, ...(unknown === undefined ? [] : [unknown])];
  const key = [...(section === undefined ? [] : [section]), ...path].join(".");
  const found = jsonText(valueAt(input, path)) || "nothing";
  const allowed =
    unknown === undefined ? allowedValues(issue) : `one of the keys ${keysAt(schema, issue.path)}`;
  if (key === "")
    return {
      message: `The settings are ${found}; allowed is an object.`,
      hint: "Write them as a JSON object.",
      cause: error,
    };
  return {
    message: `The setting ${key} is ${found}; allowed is ${allowed}.`,
    hint: `Correct or remove ${key} in the settings file.`,
    cause: error,
  };
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
