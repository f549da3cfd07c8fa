/** Far deeper than any message, and far from the end of the stack. */
const MOST_LEVELS = 500;

// Controls but those that indent JSON, format characters (bidirectional, zero-width, byte-order marks), line and
// paragraph separators, halves of characters, tags and the variation selectors beside them.
const invisible = /[^\P{Cc}\t\n\r]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u{e0000}-\u{e0fff}]/gu;

/**
 * A value as JSON, for every reader: nothing in it steers a terminal or hides. What is nested deeper than JSON can be
 * written is named in its place; all around it is told.
 */
export function outputJson(value: unknown, indent = 0): string {
  return jsonWithin(value, { indent, outerLevels: 0 });
}

/** A text of JSON with all that steers or hides as `\uXXXX`: it means the same value. Parts of a text can be given one by one. */
export function escapedJson(json: string): string {
  return json.replace(invisible, (character) => {
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

/** An array as the pieces of its JSON, an item each: of a long one, neither the items nor the text are ever held whole. */
export function* outputJsonList(items: Iterable<unknown>, indent: number): Generator<string> {
  const line = indent === 0 ? "" : `\n${" ".repeat(indent)}`;
  let before = `[${line}`;
  for (const item of items) {
    const text = jsonWithin(item, { indent, outerLevels: 1 });
    yield `${before}${indent === 0 ? text : text.replaceAll("\n", line)}`;
    before = `,${line}`;
  }
  if (before.startsWith("[")) yield "[]";
  else yield indent === 0 ? "]" : "\n]";
}

function jsonWithin(
  value: unknown,
  { indent, outerLevels }: { indent: number; outerLevels: number },
): string {
  try {
    return escapedJson(JSON.stringify(value, null, indent));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return escapedJson(JSON.stringify(value, depthGuard(outerLevels), indent));
  }
}

function depthGuard(outerLevels: number): (this: object, key: string, value: unknown) => unknown {
  const levels = new WeakMap<object, number>();
  return function guard(this: object, _key, value) {
    if (typeof value !== "object" || value === null) return value;
    const level = (levels.get(this) ?? outerLevels) + 1;
    if (level > MOST_LEVELS) return "[nested too deeply to show]";
    levels.set(value, level);
    return value;
  };
}
