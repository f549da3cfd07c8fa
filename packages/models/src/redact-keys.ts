const SHAPES: readonly RegExp[] = [
  /\b(?:sk|pk|rk|gsk|xai|pplx|csk|fw|tgp|hf|r8|nvapi|ghp|gho|ghu|github_pat)[-_][\w*.-]{6,}/g,
  // User and password of an address.
  /(?<=:\/\/)[^\s/@]+(?=@)/g,
  /\bAIza[\w-]{20,}/g,
  /\beyJ[\w-]{10,}\.[\w-]+(?:\.[\w-]+)?/g,
];
/** What follows such a word and has a digit or is long: "Bearer token is missing" stays readable. */
const AFTER_WORD =
  /\b(bearer|basic|x-api-key["']?\s*[:=]|api[-_ ]?key["']?\s*[:=]|authorization["']?\s*[:=])(\s*["']?)(?!bearer|basic)(?=\S*\d|\S{16})[^\s"',;}]{6,}/gi;

/**
 * A text without keys: what looks like one, and `key` itself wherever it stands. Providers repeat keys in their
 * refusals, and a failure is stored in the session.
 */
export function redactKeys(text: string, key?: string): string {
  const known = key !== undefined && key.length >= 6 ? text.replaceAll(key, "[key]") : text;
  const shaped = SHAPES.reduce((sum, shape) => sum.replaceAll(shape, "[key]"), known);
  return shaped.replaceAll(AFTER_WORD, (_all, word: string, gap: string) => `${word}${gap}[key]`);
}
