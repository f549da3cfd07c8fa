import { readFileSync } from "node:fs";
import { authorizationPattern, jsonText, secretShapes } from "@bonsai-agent/messages";
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
  const found = isSecret(path) ? "(hidden)" : brief(valueAt(input, path));
  return `${file}: ${shownPath(path)} is ${found}, but must be ${allowedValues(issue)}.`;
}

/** People write keys where only the name of one belongs, and a message ends in logs. */
function isSecret(path: readonly PropertyKey[]): boolean {
  return path.some((key) => /key|token$|secret|passw|auth|header|cookie/i.test(String(key)));
}

const longestValue = 80;

function brief(value: unknown): string {
  const text = redactKeys(jsonText(value) || "missing");
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
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

/** Providers shorten and mask the keys that they repeat: few characters, some of them stars, are one as well. */
const BEGUN = new RegExp(
  String.raw`\b(?:${secretShapes.flatMap(({ beginning = [] }) => beginning).join("|")})[\w*.-]{6,}`,
  "g",
);
/** User and password of an address. */
const ADDRESS_USER = /(?<=:\/\/)[^\s/@]+(?=@)/g;
const SHAPES: readonly RegExp[] = [...secretShapes.map(({ pattern }) => pattern), BEGUN, ADDRESS_USER];
const AFTER_NAME =
  /\b((?:bearer|basic|x-api-key|api[-_ ]?key|authorization)["']?\s*[:=]\s*["']?)(?!bearer|basic)([^\s"',;}]+)/gi;

/**
 * A text without keys: what looks like one, and `key` itself wherever it stands. Providers repeat keys in their
 * refusals, and a failure is stored in the session.
 */
export function redactKeys(text: string, key?: string): string {
  const known = key !== undefined && key.length >= 6 ? text.replaceAll(key, "[key]") : text;
  const shaped = SHAPES.reduce((sum, shape) => sum.replaceAll(shape, "[key]"), known);
  return [authorizationPattern, AFTER_NAME].reduce(
    (sum, pattern) => sum.replaceAll(pattern, redactValue),
    shaped,
  );
}

/** What follows such a word and has a digit or is long: "Bearer token is missing" stays readable. */
function redactValue(all: string, before: string, value: string): string {
  const isKey = value.length >= 16 || (value.length >= 6 && /\d/.test(value));
  return isKey ? `${before}[key]` : all;
}
