import { type ImageContent, jsonText, type UserContent } from "@bonsai-agent/messages";
import { isRefusedImageLine } from "@bonsai-agent/models/host";
import type { ContextEditEntry, Entry, Session } from "@bonsai-agent/session";

type Block = { type: string; data?: unknown; text?: unknown };

/** Replaces images in the model's view with a line of text: the provider refuses every request that contains them. */
export function omitImages(session: Session, images: readonly ImageContent[], line: string): void {
  const refused = new Set<unknown>(images.map(({ data }) => data));
  const isRefused = ({ type, data }: Block) => type === "image" && refused.has(data);
  for (const { entryId, message } of session.projection().items) {
    const { content } = message as { content?: unknown };
    if (!Array.isArray(content) || !content.some(isRefused)) continue;
    const text: UserContent = { type: "text", text: line };
    const replaced = content.map((block: UserContent) => (isRefused(block) ? text : block));
    session.append({ type: "context_edit", targetId: entryId, replacement: { content: replaced } });
  }
}

/** Restores the images that a provider refused: another model may accept them. */
export function restoreImages(session: Session): void {
  for (const { entryId, entry, edit } of session.projection().items) {
    if (edit === undefined || !isImageEdit(edit, entry)) continue;
    const before = blocksOf(entry.type === "message" ? entry.message : entry) ?? [];
    const after = blocksOf(edit.replacement) ?? [];
    const isRefusal = before.some(
      ({ type }, at) => type === "image" && isRefusedImageLine(String(after[at]?.text)),
    );
    if (!isRefusal) continue;
    const content = before as UserContent[];
    session.append({ type: "context_edit", targetId: entryId, replacement: { content } });
  }
}

/** True for an edit that only replaces images with text. The later answers already saw that text. */
export function isImageEdit({ replacement }: ContextEditEntry, edited: Entry | undefined): boolean {
  const before = blocksOf(edited?.type === "message" ? edited.message : edited);
  const after = blocksOf(replacement);
  if (before === undefined || after === undefined || before.length !== after.length) return false;
  return before.every((block, at) => block?.type === "image" || jsonText(block) === jsonText(after[at]));
}

function blocksOf(holder: unknown): Block[] | undefined {
  const content = (holder as { content?: unknown } | null | undefined)?.content;
  return Array.isArray(content) ? content : undefined;
}
