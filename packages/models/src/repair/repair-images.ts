import type { ImageContent, Message, UserContent } from "@bonsai-agent/messages";
import type { ProviderApi } from "../model.ts";
import { mended, type RepairPass } from "./repair.ts";

/** What a protocol's servers take, as base64: all images of a request, and one of them. */
interface ImageLimits {
  requestBytes: number;
  imageBytes?: number;
}

/** Below the providers' own limits (Anthropic: 32 MB a request, 5 MB an image), so that the text has room too. */
const limits: Readonly<Record<ProviderApi, ImageLimits>> = {
  "anthropic-messages": { requestBytes: 24_000_000, imageBytes: 5 * 1024 * 1024 },
  "openai-responses": { requestBytes: 40_000_000 },
  "openai-chat": { requestBytes: 40_000_000 },
  scripted: { requestBytes: 40_000_000 },
  extension: { requestBytes: 40_000_000 },
};

/** Replaces images that the model or its provider would refuse by a line of text, the oldest first. */
export const repairImages: RepairPass = (messages, { model, found }) => {
  if (!model.input.includes("image")) {
    return withoutImages(messages, () => {
      found("image_not_supported");
      return "[An image: this model takes text only]";
    });
  }
  const { requestBytes, imageBytes = Number.POSITIVE_INFINITY } = limits[model.api] ?? limits.scripted;
  let excess = imageSizes(messages).reduce(
    (sum, bytes) => (bytes > imageBytes ? sum : sum + bytes),
    -requestBytes,
  );
  return withoutImages(messages, ({ data }) => {
    const isTooLarge = data.length > imageBytes;
    if (!isTooLarge && excess <= 0) return undefined;
    if (!isTooLarge) excess -= data.length;
    found("too_many_bytes");
    return "[An image: left out, it is too large to be sent]";
  });
};

/** Without the images of all messages but the last that has some; the same array where none can go. */
export function withoutOlderImages(messages: readonly Message[]): readonly Message[] {
  const latest = messages.findLast((message) => imageSizes([message]).length > 0);
  const newest = new Set(latest === undefined ? [] : imagesOf(latest));
  return withoutImages(messages, (image) =>
    newest.has(image) ? undefined : "[An image: left out, the request was too large]",
  );
}

export function hasImages(messages: readonly Message[]): boolean {
  return messages.some((message) => imagesOf(message).length > 0);
}

function imageSizes(messages: readonly Message[]): number[] {
  return messages.flatMap((message) => imagesOf(message).map(({ data }) => data.length));
}

function imagesOf(message: Message): ImageContent[] {
  switch (message.role) {
    case "user":
    case "custom":
    case "toolResult":
      return typeof message.content === "string"
        ? []
        : message.content.filter((block) => block.type === "image");
    default:
      return [];
  }
}

/** @param marker the text that stands for an image; undefined keeps it */
function withoutImages(
  messages: readonly Message[],
  marker: (image: ImageContent) => string | undefined,
): readonly Message[] {
  return mended(messages, (message) => {
    if (imagesOf(message).length === 0) return message;
    const { content } = message as Extract<Message, { role: "toolResult" }>;
    const kept = mended<UserContent>(content, (block) => {
      const text = block.type === "image" ? marker(block) : undefined;
      return text === undefined ? block : { type: "text", text };
    });
    return kept === content ? message : ({ ...message, content: kept } as Message);
  });
}
