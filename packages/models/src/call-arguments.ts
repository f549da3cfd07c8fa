import { isRecord } from "@bonsai-agent/messages";
import { jsonDepthProblem } from "@bonsai-agent/messages/host";

/** The key for arguments that are no JSON object. The tool does not run, and the model gets an error. */
export const MALFORMED_ARGUMENTS = "bonsai.malformedArguments";

/**
 * Reads the arguments of a call from the provider's text. Repairs only faults with one meaning: raw line breaks and tabs
 * in a string, an extra comma or brace at the end, a code fence, an object written as a string or sent twice, an empty
 * object before the real one, and an empty text instead of `{}`. Returns undefined for everything else.
 */
export function parseArguments(text: string): Record<string, unknown> | undefined {
  const value = jsonOf(text) ?? onlyObject(withoutFaults(text));
  const inner = typeof value?.json === "string" ? parseText(value.json) : value?.json;
  if (inner === null || (Array.isArray(inner) && inner.length === 0)) return {};
  return isRecord(inner) && jsonDepthProblem(inner) === undefined ? inner : undefined;
}

/** Providers send no text at all for a call without arguments. */
function jsonOf(text: string): { json: unknown } | undefined {
  if (text.trim() === "") return { json: {} };
  try {
    return { json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function parseText(text: string): unknown {
  return (jsonOf(text) ?? jsonOf(withoutFaults(text)))?.json;
}

const FENCE = /^\s*```(?:json)?\s*\n([\s\S]*)```\s*$/i;
/** A JSON string, up to its end or the end of the text, or a comma before a closing bracket. Control characters may be in the string. */
const STRING_OR_COMMA = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|,(?=\s*[}\]])/g;

function withoutFaults(text: string): string {
  return text
    .replace(FENCE, "$1")
    .replace(STRING_OR_COMMA, (found) =>
      found === "," ? "" : found.replace(/\p{Cc}/gu, (control) => JSON.stringify(control).slice(1, -1)),
    );
}

/** Some servers begin with `{}`, repeat the whole arguments at the end, or close them twice. */
function onlyObject(text: string): { json: unknown } | undefined {
  const objects = objectsIn(text).map((part) => jsonOf(part));
  if (objects.length === 0 || objects.includes(undefined)) return jsonOf(text);
  const texts = new Set(objects.map((object) => JSON.stringify(object!.json)));
  texts.delete("{}");
  if (texts.size > 1) return undefined;
  const [only = "{}"] = texts;
  return { json: JSON.parse(only) };
}

const STRING_OR_BRACE = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|[{}]/g;

/** Cuts the text after each top-level object. Drops extra closing braces. */
function objectsIn(text: string): string[] {
  const objects: string[] = [];
  let level = 0;
  let from = 0;
  for (const { 0: token, index } of text.matchAll(STRING_OR_BRACE)) {
    if (token === "{") level += 1;
    else if (token === "}") level -= 1;
    if (token !== "}" || level !== 0) continue;
    objects.push(text.slice(from, index + 1));
    from = index + 1;
  }
  const rest = text.slice(from);
  return /^[\s}]*$/.test(rest) ? objects : [...objects, rest];
}

/** Explains to the model the fault of a call's arguments and the remedy; undefined for an object of arguments. */
export function malformedArguments(args: Readonly<Record<string, unknown>>): string | undefined {
  return MALFORMED_ARGUMENTS in args ? argumentsProblem(String(args[MALFORMED_ARGUMENTS])) : undefined;
}

const SEND_WHOLE = "Repeat the call with complete arguments.";
const CONTEXT_CHARS = 30;

export function argumentsProblem(text: string): string {
  const escaped = withoutFaults(text);
  const parsed = jsonOf(escaped);
  if (parsed !== undefined) {
    const inner = typeof parsed.json === "string" ? parseText(parsed.json) : parsed.json;
    if (isRecord(inner))
      return `The arguments are ${jsonDepthProblem(inner)}. Repeat the call with flatter arguments; send nested data as a text.`;
    return `The arguments are ${nameOf(parsed.json)}, not a JSON object. Repeat the call with an object, such as {"name": "value"}.`;
  }
  if (objectsIn(escaped).filter((part) => jsonOf(part) !== undefined).length > 1)
    return `The arguments are several JSON objects in a row. Make a separate call for each object.`;
  const { message, at } = faultOf(escaped);
  if (at >= escaped.trimEnd().length)
    return `The arguments are incomplete: they stop after ${JSON.stringify(escaped.slice(-CONTEXT_CHARS))}. ${SEND_WHOLE} Send long contents in smaller parts.`;
  const near = escaped.slice(Math.max(0, at - CONTEXT_CHARS), at + CONTEXT_CHARS / 2);
  return `The arguments are not valid JSON: ${message}, near ${JSON.stringify(near)}. ${SEND_WHOLE}${hintFor(escaped, at)}`;
}

function hintFor(text: string, at: number): string {
  const found = /\\[^"\\/bfnrtu]/.exec(text.slice(Math.max(0, at - 2), at + 1))?.[0];
  return found === undefined ? "" : ` Write a backslash in a string as \\\\: \\${found} instead of ${found}.`;
}

/** Finds the place of a parser's error. For short texts, the parser quotes the text instead of a position. */
function faultOf(text: string): { message: string; at: number } {
  try {
    JSON.parse(text);
    return { message: "", at: text.length };
  } catch (error) {
    const { message } = error as Error;
    if (/^Unexpected end|^Unterminated string/.test(message)) return { message, at: text.length };
    const position = /at position (\d+)/.exec(message)?.[1];
    if (position !== undefined) return { message: message.replace(/ \(line.*$/, ""), at: Number(position) };
    const quoted = /^Unexpected token '(.)'/su.exec(message)?.[1] ?? "";
    return { message: `unexpected ${JSON.stringify(quoted)}`, at: Math.max(0, text.indexOf(quoted)) };
  }
}

function nameOf(value: unknown): string {
  if (Array.isArray(value)) return "a JSON array";
  return typeof value === "string" ? "a JSON string" : `the JSON value ${String(value)}`;
}
