import type { AgentHost } from "@bonsai-agent/app/agent-host";
import { mentionedFiles } from "@bonsai-agent/app/file-mentions";
import { messageText } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { quotedFiles } from "../chat/user-block.ts";
import type { PromptEditor } from "./prompt-editor.ts";

/** A message of the user's as it was typed. */
interface TypedMessage {
  text: string;
  /** Images that went along and that nothing in the text names: sent again, the message is without them. */
  lostImages: number;
}

interface SentMessage {
  text: string;
  images: number;
}

/** Undoes what sending did to a message: its files are named once more, and not quoted. @param cwd the project's folder */
export function typedMessage({ text, images }: SentMessage, cwd: string): TypedMessage {
  const typed = withoutQuotes(text, cwd);
  return { text: typed, lostImages: Math.max(0, images - (filesOf(typed, cwd)?.images.length ?? 0)) };
}

/** The notice of images that do not come back; undefined where there are none. */
export function lostImagesText({ lostImages }: TypedMessage): string | undefined {
  if (lostImages === 0) return undefined;
  const what = lostImages === 1 ? "An image" : `${lostImages} images`;
  return `${what} of this message cannot come back into the editor; name the file with @ to send it again.`;
}

/** Only where sending would quote the same files again: what cannot be read any more stays as it was read. */
function withoutQuotes(sent: string, cwd: string): string {
  const { text, files } = quotedFiles(sent);
  const again = filesOf(text, cwd)?.quotes.flatMap((quote) => quotedFiles(`${text}\n\n${quote}`).files) ?? [];
  const paths = new Set(again.map(({ path }) => path));
  return files.every(({ path }) => paths.has(path)) ? text : sent;
}

/** Undefined where a file that is named is not there, or cannot be sent. */
function filesOf(text: string, cwd: string): ReturnType<typeof mentionedFiles> | undefined {
  try {
    return mentionedFiles([text], { cwd });
  } catch {
    // Sending the text is an error.
    return undefined;
  }
}

/** The user's message that an entry is; empty for every other entry. */
export function sentMessage(session: Session, entryId: string): SentMessage {
  const entry = session.entry(entryId);
  if (entry?.type !== "message" || entry.message.role !== "user") return { text: "", images: 0 };
  const { content } = entry.message;
  const images = Array.isArray(content) ? content.filter(({ type }) => type === "image").length : 0;
  return { text: messageText(entry.message), images };
}

/**
 * Puts a message of the user's into the editor as it was typed, where nothing is typed yet. What cannot come back is a
 * notice.
 */
export function fillEditor({ editor, host, notify }: FillEditorContext, sent: SentMessage): void {
  const message = typedMessage(sent, host.app.cwd);
  if (message.text !== "" && !editor.offerText(message.text)) notify(editorKept);
  const lost = lostImagesText(message);
  if (lost !== undefined) notify(lost);
}

interface FillEditorContext {
  editor: Pick<PromptEditor, "offerText">;
  host: Pick<AgentHost, "app">;
  notify(message: string): void;
}

const editorKept =
  "What you had typed stays in the editor; the message is one key up, and still in the tree.";
