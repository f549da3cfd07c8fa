const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Bytes that a JSON value begins with, each with the one that it then ends with; 0 for many. */
const LAST = new Map<number, number>([
  [QUOTE, QUOTE],
  [OPEN_BRACKET, CLOSE_BRACKET],
  [OPEN_BRACE, CLOSE_BRACE],
  ...[..."-0123456789tfn"].map((character) => [character.charCodeAt(0), 0] as const),
]);
const LONGEST_SCALAR_BYTES = 400;
const SCALAR = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/**
 * False where the bytes from `start` to `end`, both without white space, are certainly no JSON. To fail in
 * `JSON.parse` takes a hundred times as long as to look, and a file can be a million lines of garbage.
 */
export function mayBeJson(bytes: Buffer, start: number, end: number): boolean {
  if (start >= end) return false;
  const last = LAST.get(bytes[start]!);
  if (last === undefined) return false;
  if (last === 0) {
    return end - start > LONGEST_SCALAR_BYTES || SCALAR.test(bytes.toString("latin1", start, end));
  }
  if (last !== bytes[end - 1] || end - start === 1) return false;
  if (last === QUOTE) return true;
  let next = start + 1;
  while (bytes[next]! <= 0x20) next += 1;
  if (next === end - 1 || bytes[next] === QUOTE) return true;
  return last === CLOSE_BRACKET && LAST.has(bytes[next]!);
}
