import { type ImageContent, jsonText, type Message, shortened } from "@bonsai-agent/messages";
import { imageProblem } from "@bonsai-agent/messages/host";
import { type CatalogueModel, referenceOf } from "../model.ts";
import type { ModelFailure } from "../model-request.ts";
import { imagesOf, withoutImages } from "./repair.ts";

/** Statuses of refusals that blame the content of the request. */
const BLAMES_CONTENT: ReadonlySet<number> = new Set([400, 413, 415, 422]);
/** Statuses that blame the key, the account, the rate or the server. */
const BLAMES_OTHERS: ReadonlySet<number> = new Set([401, 402, 403, 408, 429, 502, 503, 504, 529]);
const NAMES_IMAGES =
  /image|picture|photo|vision|multi-?modal|pixel|mmproj|\b(?:png|jpe?g|gif|webp)\b|media[ _]type|图[片像]|画像|이미지|imagen|imagem|\bbild(?:er)?\b/i;

/**
 * True if images may be the reason for a refusal: it names images, or it blames the content and the request has images
 * that this model has not accepted yet.
 */
export function mayBlameImages(failure: ModelFailure, hasNewImages: boolean): boolean {
  const { kind, isGuessed = false, status, message, code } = failure;
  if (kind === "rateLimit" || kind === "outputCapTooLarge" || BLAMES_OTHERS.has(status ?? 0)) return false;
  if (kind === "inputTooLong" && !isGuessed) return false;
  if (NAMES_IMAGES.test(`${message} ${code ?? ""}`)) return true;
  return hasNewImages && !isGuessed && BLAMES_CONTENT.has(status ?? 0);
}

/** Images after the latest answer of the model. The model has accepted the earlier images. */
export function newImages(
  messages: readonly Message[],
  isAnswer: (message: Message) => boolean,
): ImageContent[] {
  return messages.slice(messages.findLastIndex(isAnswer) + 1).flatMap(imagesOf);
}

/** The images of one request, and its refusal. */
interface RefusedRequest {
  images: readonly ImageContent[];
  /** The images that this model has not accepted yet. */
  fresh: readonly ImageContent[];
  /** The sent body. */
  payload: unknown;
  refusal: string;
}

/** The images to leave out first: the named images, else the faulty ones, else the new ones, else all. */
export function suspectImages({ images, fresh, payload, refusal }: RefusedRequest): readonly ImageContent[] {
  const named = namedImages({ images, payload, refusal });
  if (named.length > 0) return named;
  const candidates = fresh.length > 0 ? fresh : images;
  const faulty = candidates.filter(({ data }) => imageProblem(Buffer.from(data, "base64")) !== undefined);
  return faulty.length > 0 ? faulty : candidates;
}

/** A place in a request: `messages.0.content.1.image.source.base64`, `input[3].content[1].image_url`. */
const PLACE = /\b(?:messages|input|contents)(?:\.?\[\d+\]|\.\w+)+/g;

/** Finds the images at the places that a refusal names. Returns none if it names no place, or all images. */
export function namedImages({
  images,
  payload,
  refusal,
}: Omit<RefusedRequest, "fresh">): readonly ImageContent[] {
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

/** The refused images of one client, by model, with the line of text that replaces each. */
export class RefusedImages {
  readonly #lines = new Map<string, Map<string, string>>();

  add(model: CatalogueModel, images: readonly ImageContent[], line: string): void {
    const name = referenceOf(model);
    const lines = this.#lines.get(name) ?? new Map<string, string>();
    for (const { data } of images) lines.set(data, line);
    this.#lines.set(name, lines);
  }

  /** Replaces this model's refused images. Returns the same array if there are none. */
  without(messages: readonly Message[], model: CatalogueModel): readonly Message[] {
    const lines = this.#lines.get(referenceOf(model));
    return lines === undefined ? messages : withoutImages(messages, ({ data }) => lines.get(data));
  }
}
