import { type ImageContent, messageText, saidText } from "@bonsai-agent/messages";
import { quotedFiles, typedCommand } from "@bonsai-agent/messages/host";
import type { Session } from "@bonsai-agent/session";
import type { AgentHost } from "../../call/agent-host.ts";
import { mentionedFiles } from "../../call/file-mentions.ts";
import { markOf, type PastedImages } from "./pasted-images.ts";
import type { PromptEditor } from "./prompt-editor.ts";

interface SentMessage {
  text: string;
  /** The typed command, if the text was made of one. */
  typed?: string | undefined;
  images: readonly ImageContent[];
}

/** The message as it was typed: with mentions instead of quoted files, and with marks for images without a file. */
export function typedMessage(
  { text, images, ...sent }: SentMessage,
  cwd: string,
  pasted: PastedImages,
): string {
  const typed = sent.typed ?? withoutQuotes(text, cwd);
  const marked = images.filter((image) => typed.includes(markOf(image)));
  // Images of files come first; a file can have changed since.
  const named = filesOf(typed, cwd)?.images.length ?? 0;
  const unnamed = images.filter((image) => !marked.includes(image)).slice(named);
  for (const image of marked) pasted.hold(image);
  const marks = unnamed.map((image) => pasted.hold(image));
  return [typed, ...marks].filter((part) => part !== "").join(" ");
}

/** Removes quotes only if sending would quote the same files again. */
function withoutQuotes(message: string, cwd: string): string {
  // Calling a skill reads it again.
  const sent = saidText({ content: message });
  const { text, files } = quotedFiles(sent);
  const again = filesOf(text, cwd)?.quotes.flatMap((quote) => quotedFiles(`${text}\n\n${quote}`).files) ?? [];
  const paths = new Set(again.map(({ path }) => path));
  return files.every(({ path }) => paths.has(path)) ? text : sent;
}

/** @returns undefined if a named file is missing or cannot be sent */
function filesOf(text: string, cwd: string): ReturnType<typeof mentionedFiles> | undefined {
  try {
    return mentionedFiles([text], { cwd });
  } catch {
    // Sending the text reports the error.
    return undefined;
  }
}

/** The user message of an entry; empty for other entries. */
export function sentMessage(session: Session, entryId: string): SentMessage {
  const entry = session.entry(entryId);
  if (entry?.type !== "message" || entry.message.role !== "user") return { text: "", images: [] };
  const { content } = entry.message;
  const typed = typedCommand(entry.message);
  const images = Array.isArray(content) ? content.filter(isImage) : [];
  return { text: messageText(entry.message), images, ...(typed !== undefined && { typed }) };
}

/** An edited file can contain anything. */
function isImage(block: { type: string }): block is ImageContent {
  const { type, data, mimeType } = block as Partial<ImageContent>;
  return type === "image" && typeof data === "string" && typeof mimeType === "string";
}

/** Puts a message into an empty editor as it was typed. Notifies if the editor has a draft. */
export function fillEditor({ editor, host, notify }: FillEditorContext, sent: SentMessage): void {
  const text = typedMessage(sent, host.app.cwd, editor.images);
  if (text !== "" && !editor.offerText(text)) notify(editorKept);
}

interface FillEditorContext {
  editor: Pick<PromptEditor, "offerText" | "images">;
  host: Pick<AgentHost, "app">;
  notify(message: string): void;
}

const editorKept = "Your draft stays in the editor. Press Up to edit the earlier message.";
