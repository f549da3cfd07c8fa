import { type ImageContent, jsonText, type Message, shortened } from "@bonsai-agent/messages";
import { imageProblem } from "@bonsai-agent/messages/host";
import type { ModelFailure } from "../model-request.ts";
import { imagesOf } from "../repair/repair-content.ts";

/** Statuses of refusals that blame the content of the request. */
const BLAMES_CONTENT: ReadonlySet<number> = new Set([400, 413, 415, 422]);
/** Statuses that blame the key, the account, the rate or the server. */
const BLAMES_OTHERS: ReadonlySet<number> = new Set([401, 402, 403, 408, 429, 502, 503, 504, 529]);
const NAMES_IMAGES =
  /image|picture|photo|vision|multi-?modal|pixel|mmproj|\b(?:png|jpe?g|gif|webp)\b|media[ _]type|图[片像]|画像|이미지|imagen|imagem|\bbild(?:er)?\b/i;

/** After this many omitted images, the next refusal omits all others at once. */
const MAX_NAMED_IMAGES = 4;

interface ImageRefusal {
  messages: readonly Message[];
  /** The sent body. */
  payload: unknown;
  failure: ModelFailure;
  /** The number of images that earlier refusals of this request omitted. */
  omitted: number;
  /** True for an answer of the model, which has accepted the images before it. */
  isAnswer: (message: Message) => boolean;
}

/**
 * The images to leave out after a refusal: the named images, else after the first refusal the faulty or the new ones, else
 * all. Returns none if no image can be the reason.
 */
export function imagesToOmit(refusal: ImageRefusal): readonly ImageContent[] {
  const { messages, payload, failure, omitted, isAnswer } = refusal;
  const all = messages.flatMap(imagesOf);
  const fresh = messages.slice(messages.findLastIndex(isAnswer) + 1).flatMap(imagesOf);
  if (all.length === 0 || !mayBlameImages(failure, fresh.length > 0)) return [];
  const named = omitted < MAX_NAMED_IMAGES ? namedImages(all, payload ?? {}, failure.message) : [];
  if (named.length > 0) return named;
  if (omitted > 0) return all;
  const candidates = fresh.length > 0 ? fresh : all;
  const faulty = candidates.filter(({ data }) => imageProblem(Buffer.from(data, "base64")) !== undefined);
  return faulty.length > 0 ? faulty : candidates;
}

/** A refusal blames images if it names them, or if it blames the content and the request has images of unknown effect. */
function mayBlameImages(failure: ModelFailure, hasNewImages: boolean): boolean {
  const { kind, isGuessed = false, status, message, code } = failure;
  if (kind === "rateLimit" || kind === "outputCapTooLarge" || BLAMES_OTHERS.has(status ?? 0)) return false;
  if (kind === "inputTooLong" && !isGuessed) return false;
  if (NAMES_IMAGES.test(`${message} ${code ?? ""}`)) return true;
  return hasNewImages && !isGuessed && BLAMES_CONTENT.has(status ?? 0);
}

/** A place in a request: `messages.0.content.1.image.source.base64`, `input[3].content[1].image_url`. */
const PLACE = /\b(?:messages|input|contents)(?:\.?\[\d+\]|\.\w+)+/g;

/** Finds the images at the places that a refusal names. Returns none if it names no place, or all images. */
function namedImages(
  images: readonly ImageContent[],
  payload: unknown,
  refusal: string,
): readonly ImageContent[] {
  for (const [place] of refusal.matchAll(PLACE)) {
    let at = payload as Record<string, unknown>;
    for (const key of place.match(/\w+/g) ?? []) {
      // Some parts of a place name the type of a block, not a field.
      const next = at[key];
      if (typeof next === "object" && next !== null) at = next as Record<string, unknown>;
    }
    const found = jsonText(at);
    const named = images.filter(({ data }) => found.includes(data));
    if (named.length > 0 && named.length < images.length) return named;
  }
  return [];
}

const MAX_REASON_CHARS = 200;
const REFUSED = "[Image omitted because the provider refused it: ";

/** The line of text that replaces a refused image. */
export function refusedImageLine(reason: string): string {
  const line = reason.replaceAll(/\s+/g, " ").trim();
  return `${REFUSED}${shortened(line, MAX_REASON_CHARS)}]`;
}

/** True for a line that `refusedImageLine` made. */
export function isRefusedImageLine(text: string): boolean {
  return text.startsWith(REFUSED);
}
