import { createHash } from "node:crypto";
import {
  type AssistantContent,
  type AssistantMessage,
  contentBlocks,
  type ImageContent,
  type Message,
  type ThinkingContent,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";
import { exceedsJsonDepth, resultImagesFrame, userContent } from "@bonsai-agent/messages/host";
import type { CatalogueModel } from "../model.ts";
import type { OpenAiServer } from "./openai-servers.ts";

export interface ConvertOptions {
  model: CatalogueModel;
  server: OpenAiServer;
}

/** The content of a user-role message; empty for answers, tool results and hidden messages. */
export function userParts(message: Message): UserContent[] {
  return checkedContent(userContent(message));
}

/** The blocks of an answer that can be sent: old and damaged files contain others. */
export function answerBlocks(message: AssistantMessage): AssistantContent[] {
  return (contentBlocks(message.content) as unknown as AssistantContent[]).filter((block) => {
    if (block.type === "text") return typeof block.text === "string" && block.text.trim() !== "";
    return block.type === "thinking" || block.type === "toolCall";
  });
}

export function resultParts({ content }: ToolResultMessage): { text: string; images: ImageContent[] } {
  const blocks = checkedContent(content);
  const images = blocks.filter((block) => block.type === "image");
  const text = blocks.map((block) => (block.type === "text" ? block.text : "")).filter((part) => part !== "");
  const none = images.length > 0 ? "(an image)" : "(no output)";
  return { text: text.join("\n") || none, images };
}

/** Images of tool results, for an API that accepts only text there. */
export function imagesOfResults(images: readonly ImageContent[]): UserContent[] {
  if (images.length === 0) return [];
  const { begin, end } = resultImagesFrame(images.length);
  return [{ type: "text", text: begin }, ...images, { type: "text", text: end }];
}

export function dataUrl({ mimeType, data }: ImageContent): string {
  return `data:${mimeType};base64,${data}`;
}

/** The JSON object in one of Bonsai's signatures; undefined for other signatures. */
export function signedObject({ thinkingSignature }: ThinkingContent): Record<string, unknown> | undefined {
  return jsonObject(thinkingSignature);
}

export function jsonObject(text: string | undefined): Record<string, unknown> | undefined {
  if (!text?.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return exceedsJsonDepth(value) ? undefined : (value as Record<string, unknown>);
  } catch {
    return undefined;
  }
}

function checkedContent(content: unknown): UserContent[] {
  return (contentBlocks(content) as unknown as UserContent[]).filter((block) =>
    block.type === "text"
      ? typeof block.text === "string" && block.text !== ""
      : block.type === "image" && typeof block.data === "string" && block.data !== "",
  );
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "call_";

/**
 * Makes the id of a tool call acceptable to a server. A replacement depends only on the id, so that call and result agree
 * and the cached prefix stays.
 */
export function wireCallId(id: string, { pattern, madeChars }: OpenAiServer["callId"]): string {
  if (pattern.test(id)) return id;
  const digest = createHash("sha256").update(id).digest();
  const made = Array.from(digest, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return madeChars > PREFIX.length + 8 ? `${PREFIX}${made}`.slice(0, madeChars) : made.slice(0, madeChars);
}
