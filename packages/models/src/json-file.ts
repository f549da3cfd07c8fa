import { readFileSync } from "node:fs";
import { isSecretName, jsonText, redactSecrets, shortened } from "@bonsai-agent/messages";
import type { z } from "zod";

/** The text of a file, without a byte-order mark; undefined when there is no such file. Throws what the system says else. */
export function textFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    // ENOTDIR: what should be the folder is a file.
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Parses JSON that people write: with comments, and with commas at the end of lists. */
export function parseJson(text: string): unknown {
  const kept = (pattern: RegExp) => (from: string) =>
    from.replaceAll(pattern, (_, quoted: string | undefined) => quoted ?? "");
  const withoutComments = kept(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g)(text);
  return JSON.parse(kept(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g)(withoutComments));
}

interface JsonProblemOptions {
  error: z.ZodError;
  /** What was validated. */
  input: unknown;
  schema: z.ZodType;
  file: string;
}

/** Describes the first invalid value of a JSON file: file, key, value, allowed values. */
export function jsonProblem({ error, input, schema, file }: JsonProblemOptions): string {
  const issue = error.issues[0]!;
  const { path } = issue;
  if (issue.code === "unrecognized_keys") {
    const key = shownPath([...path, ...issue.keys.slice(0, 1)]);
    return `${file}: unknown key ${key}. Known keys: ${keysAt(schema, path).join(", ")}.`;
  }
  const isHidden = path.some(
    (key) => isSecretName(String(key)) || /key|auth|header|cookie/i.test(String(key)),
  );
  // People write keys where only the name of one belongs, and a message ends in logs.
  const found = isHidden ? "(hidden)" : shownValue(valueAt(input, path));
  return `${file}: ${shownPath(path)} is ${found}, but must be ${allowedValues(issue)}.`;
}

const longestValue = 80;

/** A value as an error shows it: short and without keys, also without the parameters of an address. */
export function shownValue(value: unknown): string {
  const written = (jsonText(value) || "missing").replaceAll(/(:\/\/[^\s"?]*\?)[^\s"]+/g, "$1…");
  const text = redactSecrets(written, { isStrict: true }).replaceAll(
    /(?<=:\/\/)[^\s/@]+(?=@)/g,
    "[redacted: user]",
  );
  return shortened(text, longestValue);
}

function shownPath(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  return text.replace(/^\./, "") || "the whole file";
}

function allowedValues(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_value":
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_type":
      return kinds[issue.expected] ?? `a value of type ${issue.expected}`;
    case "too_small":
      return issue.origin === "string" ? "a non-empty string" : atLeast(issue);
    case "too_big":
      return `a number of at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const kinds: Readonly<Record<string, string>> = {
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
  const inner = path.reduce<unknown>((value, key) => {
    const { shape, element } = unwrapped(value);
    return typeof key === "number" ? element : shape?.[key];
  }, schema);
  return Object.keys(unwrapped(inner).shape ?? {});
}

/** The schema below optional and default. */
function unwrapped(schema: unknown): SchemaParts {
  const parts = (schema ?? {}) as SchemaParts;
  const isOuter = parts.shape === undefined && parts.element === undefined && parts.unwrap !== undefined;
  return isOuter ? unwrapped(parts.unwrap?.()) : parts;
}
