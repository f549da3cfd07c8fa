import type { ImageContent, Message, UserContent } from "@bonsai-agent/messages";
import { count as digits } from "@bonsai-agent/messages/numbers";
import type { CatalogueModel, ProviderApi } from "../model.ts";
import type { Repair, RepairKind } from "../model-request.ts";

/** Singular and plural; `#` is the count. */
const details: Readonly<Record<RepairKind, readonly [one: string, several: string]>> = {
  damaged_content: ["Omitted a damaged part of a message.", "Omitted # damaged parts of messages."],
  unpaired_call: [
    "Added a placeholder result to a tool call without a result.",
    "Added placeholder results to # tool calls without a result.",
  ],
  unpaired_result: [
    "Sent a tool result as text, or omitted it if empty: its call is missing.",
    "Sent # tool results as text, or omitted them if empty: their calls are missing.",
  ],
  misplaced_result: ["Moved a tool result to its call.", "Moved # tool results to their calls."],
  duplicate_result: [
    "Omitted a second result of the same call.",
    "Omitted # repeated results of the same calls.",
  ],
  empty_message: [
    'Omitted the empty parts of a message, or replaced them with "(no output)".',
    'Omitted the empty parts of # messages, or replaced them with "(no output)".',
  ],
  failed_answer: [
    "Omitted an interrupted answer, or sent only its text.",
    "Omitted # interrupted answers, or sent only their text.",
  ],
  bound_thinking: [
    "Omitted thinking from another model or from an earlier context.",
    "Omitted # parts of thinking from another model or from an earlier context.",
  ],
  lone_surrogate: [
    "Replaced invalid Unicode characters in a message.",
    "Replaced invalid Unicode characters in # messages.",
  ],
  call_id: [
    "Gave a tool call a new id: an earlier call has the same id.",
    "Gave # tool calls new ids: earlier calls have the same ids.",
  ],
  image_not_supported: [
    "Omitted an image: the model accepts only text.",
    "Omitted # images: the model accepts only text.",
  ],
  too_many_bytes: [
    "Omitted an image: the request would be too large.",
    "Omitted # images: the request would be too large.",
  ],
  no_user_first: [
    "Added a placeholder for the first user message: a conversation must start with the user.",
    "Added a placeholder for the first user message: a conversation must start with the user.",
  ],
};

/** Describes a repair for users. */
export function repairOf(kind: RepairKind, count: number): Repair {
  const [one, several] = details[kind];
  return { kind, count, detail: count === 1 ? one : several.replace("#", digits(count)) };
}

/** The context of a repair pass. */
export interface RepairContext {
  model: CatalogueModel;
  /** The context changed at this time. Thinking of earlier answers is bound to the earlier one. */
  prefixChangedAtMs: number | undefined;
  /** Leave out all thinking of answers up to this time. */
  dropThinkingUpToMs: number | undefined;
  /** Counts a repair. */
  found(kind: RepairKind, count?: number): void;
}

/** One kind of repair. Pure except for `found`. Returns the same array if nothing is wrong. */
export type RepairPass = (messages: readonly Message[], context: RepairContext) => readonly Message[];

/** Maps a list. Leaves out undefined. Returns the same list if no item changed. */
export function mended<Item>(
  items: readonly Item[],
  mend: (item: Item, index: number) => Item | undefined,
): readonly Item[] {
  let changed: Item[] | undefined;
  for (const [index, item] of items.entries()) {
    const now = mend(item, index);
    if (now === item && now !== undefined) changed?.push(item);
    else {
      changed ??= items.slice(0, index);
      if (now !== undefined) changed.push(now);
    }
  }
  return changed ?? items;
}

/** As `mended`, for the blocks of a message. */
export function mendedBlocks<M extends Message, Block>(message: M, mend: (block: Block) => unknown): M {
  const { content } = message as unknown as { content: readonly Block[] };
  const kept = mended<unknown>(content, (block) => mend(block as Block));
  return kept === content ? message : { ...message, content: [...kept] };
}

interface ImageLimits {
  /** All images of a request, as base64. */
  requestBytes: number;
  imageBytes?: number;
}

/** Below the providers' limits (Anthropic: 32 MB a request, 5 MB an image), to leave room for the text. */
const limits: Readonly<Record<ProviderApi, ImageLimits>> = {
  "anthropic-messages": { requestBytes: 24_000_000, imageBytes: 5 * 1024 * 1024 },
  "openai-responses": { requestBytes: 40_000_000 },
  "openai-chat": { requestBytes: 40_000_000 },
  scripted: { requestBytes: 40_000_000 },
  extension: { requestBytes: 40_000_000 },
};

/** Replaces images that the model or its provider would refuse by a line of text. The oldest go first. */
export const repairImages: RepairPass = (messages, { model, found }) => {
  if (!model.input.includes("image")) {
    return withoutImages(messages, () => {
      found("image_not_supported");
      return "[Image omitted: this model accepts only text]";
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
    return "[Image omitted: it is too large]";
  });
};

/** Leaves out all images except those of the latest message with images. */
export function withoutOlderImages(messages: readonly Message[]): readonly Message[] {
  const latest = messages.findLast((message) => imageSizes([message]).length > 0);
  const newest = new Set(latest === undefined ? [] : imagesOf(latest));
  return withoutImages(messages, (image) =>
    newest.has(image) ? undefined : "[Image omitted: the request was too large]",
  );
}

export function hasImages(messages: readonly Message[]): boolean {
  return messages.some((message) => imagesOf(message).length > 0);
}

function imageSizes(messages: readonly Message[]): number[] {
  return messages.flatMap((message) => imagesOf(message).map(({ data }) => data.length));
}

export function imagesOf(message: Message): ImageContent[] {
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

/** @param marker returns the text that replaces an image; undefined keeps it */
export function withoutImages(
  messages: readonly Message[],
  marker: (image: ImageContent) => string | undefined,
): readonly Message[] {
  return mended(messages, (message) => {
    if (imagesOf(message).length === 0) return message;
    return mendedBlocks(message, (block: UserContent) => {
      const text = block.type === "image" ? marker(block) : undefined;
      return text === undefined ? block : { type: "text", text };
    });
  });
}
