import { MARKS, paragraphs } from "@bonsai-agent/messages/host";
import { clip } from "../plan/view.ts";
import { block, estimateUpward } from "./files.ts";

/** Texts that extensions carry, by tag. */
export type ExtensionCarryOver = Readonly<Record<string, readonly string[]>>;

/** Maximum tokens of all texts of extensions; in a small window, an eighth of it. */
const CARRIED_TOKENS = 2_000;
const WINDOW_SHARE = 1 / 8;

const TAG = /^[a-z][a-z-]*$/;
const MAX_TAG_CHARS = 40;

/** Checks an extension's carry-over. Returns true, or a description of the fault. */
export function checkCarryOver(value: unknown): true | string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "a carryOver that is not an object of lists";
  for (const [tag, texts] of Object.entries(value)) {
    const named = `a carryOver with the tag ${JSON.stringify(tag)}`;
    if ((MARKS.tags as readonly string[]).includes(tag)) return `${named}, which is reserved for Bonsai`;
    if (!TAG.test(tag) || tag.length > MAX_TAG_CHARS)
      return `${named} (allowed: up to ${MAX_TAG_CHARS} letters a to z and hyphens, beginning with a letter)`;
    if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string"))
      return `${named} whose value is not a list of texts`;
  }
  return true;
}

/**
 * Bounds the texts of extensions. Each tag gets an equal share of the tokens that the tags before it left. Its texts
 * are added in order: the first that does not fit is cut to head and tail, and those after it are counted.
 */
export function boundedCarryOver(
  carryOver: ExtensionCarryOver,
  windowTokens = Number.POSITIVE_INFINITY,
): ExtensionCarryOver {
  const given = Object.entries(carryOver)
    .map(([tag, texts]) => [tag, texts.filter((text) => text.trim() !== "")] as const)
    .filter(([, texts]) => texts.length > 0);
  let left = Math.min(CARRIED_TOKENS, Math.floor(windowTokens * WINDOW_SHARE));
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

/** A shorter clip is of no use beside the mark of the missing part. */
const MIN_CHARS = 200;

function clipped(text: string, maxTokens: number): string {
  let chars = Math.max(MIN_CHARS, maxTokens * 4);
  while (chars > MIN_CHARS && estimateUpward(clip(text, chars)) > maxTokens)
    chars = Math.max(MIN_CHARS, Math.floor(chars * 0.8));
  return clip(text, chars);
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateUpward(`${text}\n`), 0);
}

/** The blocks of extensions' texts, as the summary contains them; empty without texts. */
export function renderExtensionCarryOver(carryOver: ExtensionCarryOver = {}): string {
  const tags = Object.keys(carryOver);
  return paragraphs(Object.entries(carryOver).map(([tag, texts]) => block(tag, texts, tags)));
}
