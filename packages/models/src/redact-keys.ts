import { authorizationPattern, secretShapes } from "@bonsai-agent/messages";

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
