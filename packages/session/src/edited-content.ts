import { isDeepStrictEqual } from "node:util";
import { contentBlocks, type Message, type UserContent } from "@bonsai-agent/messages";
import type { ContextEditEntry } from "./entry.ts";

// A compaction edits messages in the model's view in three ways. A reader must tell these edits from deliberate ones.

/** Replaces the content of an old tool result, or the output of a command of the user, in the model's view. */
export const MASK_PLACEHOLDER = "[Old tool result content cleared]";

/** Replaces an image in the model's view. */
export function imageMark({ mimeType }: { mimeType: string }): string {
  return `[image left out: ${mimeType}]`;
}

/** True for a message whose content is the mask's placeholder. */
export function isMasked(message: Message): boolean {
  return isOutput(message) && isMaskedContent(contentOf(message));
}

export function isMaskedContent(content: unknown): boolean {
  const [block, ...others] = contentBlocks(content);
  return others.length === 0 && block?.type === "text" && block.text === MASK_PLACEHOLDER;
}

/** True for a tool result or a command of the user: its output can be produced again. */
export function isOutput({ role }: Message): boolean {
  return role === "toolResult" || role === "bashExecution";
}

/** True for an edit that no compaction made: the model must not see the removed content again. */
export function isDeliberateEdit(
  replacement: ContextEditEntry["replacement"] | undefined,
  original: Message,
): boolean {
  return replacement === null || (replacement !== undefined && !isCompacted(replacement.content, original));
}

/** True for an edit that shows the message as it was stored. */
export function isRestoring(
  { replacement }: Pick<ContextEditEntry, "replacement">,
  original: Message,
): boolean {
  if (replacement === null || replacement === undefined) return false;
  return isDeepStrictEqual(contentBlocks(replacement.content), contentOf(original));
}

/** The latest deliberate edit of a message, unless a later edit restored the message. @param edits oldest first */
export function deliberateEdit<Edit extends Pick<ContextEditEntry, "replacement">>(
  edits: readonly Edit[],
  original: Message,
): Edit | undefined {
  const restored = edits.findLastIndex((edit) => isRestoring(edit, original));
  return edits.slice(restored + 1).findLast(({ replacement }) => isDeliberateEdit(replacement, original));
}

function isCompacted(content: unknown, original: Message): boolean {
  if (isMaskedContent(content)) return true;
  const blocks = contentBlocks(content);
  const before = contentOf(original);
  return (
    blocks.length === before.length &&
    blocks.every((block, at) => block.type === "text" && isLeftOf(String(block.text), before[at]!))
  );
}

function isLeftOf(text: string, before: UserContent): boolean {
  return before.type === "image" ? text === imageMark(before) : isClipOf(text, before.text);
}

/** The blocks that an edit of the message replaces. */
export function contentOf(message: Message): UserContent[] {
  const content =
    message.role === "bashExecution" ? message.output : "content" in message ? message.content : undefined;
  return contentBlocks(content) as unknown as UserContent[];
}

const CLIP_MARKER = /\n\[… \d+ more characters …\]\n/g;

/** True if the texts are equal, or `clip` can have made the first of the second. */
function isClipOf(clipped: string, text: string): boolean {
  if (clipped === text) return true;
  return [...clipped.matchAll(CLIP_MARKER)].some(({ 0: { length }, index }) => {
    return text.startsWith(clipped.slice(0, index)) && text.endsWith(clipped.slice(index + length));
  });
}
