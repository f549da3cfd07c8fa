import { clip } from "./clip.ts";
import { block } from "./file-lists.ts";
import { isOwnTag } from "./marks.ts";
import { highTokens } from "./summary-sizes.ts";

/** Texts that extensions want carried over, by tag. */
export type ExtensionCarryOver = Readonly<Record<string, readonly string[]>>;

/** What all that extensions carry over may take of the context; in a small window, an eighth of it. */
const CARRIED_TOKENS = 2_000;
const WINDOW_SHARE = 1 / 8;

const TAG = /^[a-z][a-z-]*$/;
const LONGEST_TAG = 40;

/** True for what can be carried over, else what is wrong with it. */
export function checkCarryOver(value: unknown): true | string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "a carryOver that is no object of lists";
  for (const [tag, texts] of Object.entries(value)) {
    const named = `a carryOver with the tag ${JSON.stringify(tag)}`;
    if (isOwnTag(tag)) return `${named}, which is Bonsai's own`;
    if (!TAG.test(tag) || tag.length > LONGEST_TAG)
      return `${named} (allowed are up to ${LONGEST_TAG} letters a to z and hyphens, a letter first)`;
    if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string"))
      return `${named} whose value is no list of texts`;
  }
  return true;
}

/**
 * What there is room for. Each tag gets an equal share of what those before it left; its texts are taken in order, the
 * first that does not fit is cut to head and tail, and those after it are counted.
 */
export function boundedCarryOver(
  carryOver: ExtensionCarryOver | undefined,
  windowTokens: number | undefined,
): ExtensionCarryOver {
  const given = Object.entries(carryOver ?? {})
    .map(([tag, texts]) => [tag, texts.filter((text) => text.trim() !== "")] as const)
    .filter(([, texts]) => texts.length > 0);
  let left = Math.min(CARRIED_TOKENS, Math.floor((windowTokens ?? Number.POSITIVE_INFINITY) * WINDOW_SHARE));
  const bounded = given.map(([tag, texts], at) => {
    const kept = withinTokens(texts, Math.floor(left / (given.length - at)));
    left -= tokensOf(kept);
    return [tag, kept] as const;
  });
  return Object.fromEntries(bounded);
}

function withinTokens(texts: readonly string[], maxTokens: number): string[] {
  const kept: string[] = [];
  let left = maxTokens;
  for (const [at, text] of texts.entries()) {
    const tokens = tokensOf([text]);
    if (tokens <= left) {
      kept.push(text);
      left -= tokens;
      continue;
    }
    const others = texts.length - at - 1;
    return [...kept, clipped(text, left), ...(others === 0 ? [] : [`(and ${others} more)`])];
  }
  return kept;
}

/** Few characters say too little beside the mark of what is missing. */
const LEAST_CHARS = 200;

function clipped(text: string, maxTokens: number): string {
  let chars = Math.max(LEAST_CHARS, maxTokens * 4);
  while (chars > LEAST_CHARS && highTokens(clip(text, chars)) > maxTokens)
    chars = Math.max(LEAST_CHARS, Math.floor(chars * 0.8));
  return clip(text, chars);
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + highTokens(`${text}\n`), 0);
}

/** The data blocks as they stand in the summary; empty where there is nothing. */
export function renderExtensionCarryOver(carryOver: ExtensionCarryOver = {}): string {
  const tags = Object.keys(carryOver);
  return Object.entries(carryOver)
    .map(([tag, texts]) => block(tag, texts, tags))
    .filter((text) => text !== "")
    .join("\n\n");
}
