import type { ImageContent, Message, UserContent } from "@bonsai-agent/messages";
import type { CatalogueModel, ProviderApi } from "../model.ts";

/** What was wrong in a history and would have been refused. */
export type RepairKind =
  | "damaged_content"
  | "unpaired_call"
  | "unpaired_result"
  | "misplaced_result"
  | "duplicate_result"
  | "empty_message"
  | "failed_answer"
  | "bound_thinking"
  | "lone_surrogate"
  | "call_id"
  | "image_not_supported"
  | "too_many_bytes"
  | "no_user_first";

/** One kind of repair in one request. */
export interface Repair {
  /** What was wrong. */
  kind: RepairKind;
  /** How many messages or blocks were mended so. */
  count: number;
  /** One sentence for people. */
  detail: string;
}

/** One and several, as people read them; `#` stands for the number. */
const details: Readonly<Record<RepairKind, readonly [one: string, several: string]>> = {
  damaged_content: [
    "A damaged part of a message was left out.",
    "# damaged parts of messages were left out.",
  ],
  unpaired_call: [
    "A tool call without a result was given one that says so.",
    "# tool calls without a result were given one that says so.",
  ],
  unpaired_result: [
    "A tool result without its call was told as text, or left out where it said nothing.",
    "# tool results without their calls were told as text, or left out where they said nothing.",
  ],
  misplaced_result: ["A tool result was put behind its call.", "# tool results were put behind their calls."],
  duplicate_result: ["A second result of one call was left out.", "# second results of calls were left out."],
  empty_message: [
    "A message or a part of one without content was left out or marked.",
    "# messages or parts of them without content were left out or marked.",
  ],
  failed_answer: [
    "An answer that had broken off was left out, or kept as far as its text goes.",
    "# answers that had broken off were left out, or kept as far as their text goes.",
  ],
  bound_thinking: [
    "Thinking that belongs to another model or to a context that is no more was left out.",
    "# parts of thinking that belong to another model or to a context that is no more were left out.",
  ],
  lone_surrogate: [
    "A character that is no valid Unicode was replaced in one message.",
    "Characters that are no valid Unicode were replaced in # messages.",
  ],
  call_id: [
    "A tool call that shared its id with an earlier one got its own.",
    "# tool calls that shared their ids with earlier ones got their own.",
  ],
  image_not_supported: [
    "An image was left out: the model takes text only.",
    "# images were left out: the model takes text only.",
  ],
  too_many_bytes: [
    "An image was left out: the request would have been too large.",
    "# images were left out: the request would have been too large.",
  ],
  no_user_first: [
    "A line was put in front, because a conversation has to begin with the user.",
    "A line was put in front, because a conversation has to begin with the user.",
  ],
};

/** A repair in words for people. */
export function repairOf(kind: RepairKind, count: number): Repair {
  const [one, several] = details[kind];
  return { kind, count, detail: count === 1 ? one : several.replace("#", count.toLocaleString("en")) };
}

/** What a pass may know beside the messages. */
export interface RepairContext {
  model: CatalogueModel;
  /** Thinking of answers before this time is bound to a context that has changed since. */
  prefixChangedAtMs: number | undefined;
  /** Leave out all thinking of answers up to this time, whoever it belongs to. */
  dropThinkingUpToMs: number | undefined;
  /** Counts a repair. */
  found(kind: RepairKind, count?: number): void;
}

/** One kind of repair. Pure but for `found`; sound messages come back as the same array. */
export type RepairPass = (messages: readonly Message[], context: RepairContext) => readonly Message[];

/** Maps a list, undefined leaving an item out; the same list where every item stayed what it was. */
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

/** A message with its blocks mapped; the same message where every block stayed what it was. */
export function mendedBlocks<M extends Message, Block>(message: M, mend: (block: Block) => unknown): M {
  const { content } = message as unknown as { content: readonly Block[] };
  const kept = mended<unknown>(content, (block) => mend(block as Block));
  return kept === content ? message : { ...message, content: [...kept] };
}

/** What a protocol's servers take, as base64: all images of a request, and one of them. */
interface ImageLimits {
  requestBytes: number;
  imageBytes?: number;
}

/** Below the providers' own limits (Anthropic: 32 MB a request, 5 MB an image), so that the text fits too. */
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
    return mendedBlocks(message, (block: UserContent) => {
      const text = block.type === "image" ? marker(block) : undefined;
      return text === undefined ? block : { type: "text", text };
    });
  });
}
