// Words for values that a zod schema rejects. Imports only zod's types, so that it costs nothing to load.
import type { z } from "zod";
import type { BonsaiError, BonsaiErrorOptions } from "./error.ts";
import { isSecretName } from "./text/secret-rules.ts";
import { redactSecrets } from "./text/secrets.ts";
import { jsonText, shortened } from "./text/text.ts";

/** Describes the first rejected value: its key, such as `models[0].id`, the value as an error shows it, and the allowed ones. */
function settingProblem(error: z.ZodError, input: unknown, schema: z.ZodType) {
  const issue = error.issues[0]!;
  const unknown = issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...issue.path, ...unknown];
  // People write keys where only the name of one belongs, and a message ends in logs.
  const isHidden = path.some(
    (key) => isSecretName(String(key)) || /key|auth|header|cookie/i.test(String(key)),
  );
  return {
    key: path
      .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
      .join("")
      .replace(/^\./, ""),
    found: isHidden ? "(hidden)" : shownValue(valueAt(input, path)),
    allowed: allowedValues(issue),
    /** Only for an unknown key: the known keys beside it. */
    knownKeys: unknown.length > 0 ? keysAt(schema, issue.path).join(", ") : undefined,
  };
}

interface ParseSettingsOptions {
  /** The JSON file with the value. Its name begins the message. Default: the value is a part of the settings. */
  file?: string;
  /** The value's own key in the file or among all settings. Default: the value is the whole file or all settings. */
  section?: string;
  /** Makes the error. Its message names the key, the value and the allowed values. */
  error: (problem: Omit<BonsaiErrorOptions, "code">) => BonsaiError;
}

/**
 * Validates settings, or the value of a JSON file, and fills in the defaults.
 * @throws the error that `error` makes
 */
export function parseSettings<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  { file, section, error: errorOf }: ParseSettingsOptions,
): z.output<Schema> {
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  const { key, found, allowed, knownKeys } = settingProblem(error, input, schema);
  const wrong = `is ${found}, but must be ${allowed}.`;
  const name = [section, key].filter(Boolean).join(".");
  if (file !== undefined) {
    const problem =
      knownKeys === undefined
        ? `${name || "the whole file"} ${wrong}`
        : `unknown key ${name}. Known keys: ${knownKeys}.`;
    throw errorOf({ message: `${file}: ${problem}`, hint: "Correct the file.", cause: error });
  }
  if (name === "")
    throw errorOf({
      message: `The settings are ${found}, but must be a JSON object.`,
      hint: 'Write an object such as {"thinking": "low"}.',
      cause: error,
    });
  throw errorOf({
    message: `The setting ${name} ${knownKeys === undefined ? wrong : `is unknown. Known keys: ${knownKeys}.`}`,
    hint: `Correct or remove ${name} in the settings file.`,
    cause: error,
  });
}

const MAX_VALUE_CHARS = 80;

/** A value as an error shows it: short, and without keys and the parameters of addresses. */
function shownValue(value: unknown): string {
  const written = (jsonText(value) || "missing").replaceAll(/(:\/\/[^\s"?]*\?)[^\s"]+/g, "$1…");
  const text = redactSecrets(written, { isStrict: true }).replaceAll(
    /(?<=:\/\/)[^\s/@]+(?=@)/g,
    "[redacted: user]",
  );
  return shortened(text, MAX_VALUE_CHARS);
}

function allowedValues(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_value":
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_type":
      return TYPE_WORDS[issue.expected] ?? `a value of type ${issue.expected}`;
    case "invalid_union":
      return [...new Set(issue.errors.flat().map(allowedValues))].join(", or ");
    case "too_small":
      return issue.origin === "string" ? "a non-empty string" : atLeast(issue);
    case "too_big":
      return `a number of at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  int: "a whole number",
  number: "a number",
  string: "a string",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

function atLeast({ minimum, inclusive, origin }: z.core.$ZodIssueTooSmall): string {
  if (origin === "array") return "a non-empty list";
  return inclusive === false ? `a number above ${minimum}` : `a number of at least ${minimum}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], input);
}

interface SchemaParts {
  shape?: Readonly<Record<PropertyKey, unknown>>;
  element?: unknown;
  unwrap?: () => unknown;
}

function keysAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  return Object.keys(unwrapped(schemaAt(schema, path)).shape ?? {});
}

function schemaAt(schema: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => {
    const { shape, element } = unwrapped(value);
    return typeof key === "number" ? element : shape?.[key];
  }, schema);
}

/** The schema below optional and default. */
function unwrapped(schema: unknown): SchemaParts {
  const parts = (schema ?? {}) as SchemaParts;
  const isOuter = parts.shape === undefined && parts.element === undefined && parts.unwrap !== undefined;
  return isOuter ? unwrapped(parts.unwrap?.()) : parts;
}
