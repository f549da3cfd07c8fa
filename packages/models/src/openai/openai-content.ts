import { createHash } from "node:crypto";
import {
  type AssistantContent,
  type AssistantMessage,
  contentBlocks,
  type ImageContent,
  isTooDeep,
  type Message,
  type ThinkingContent,
  type ToolResultMessage,
  type UserContent,
  userContent,
} from "@bonsai-agent/messages";
import { resultImagesFrame } from "@bonsai-agent/messages/frames";
import type { CatalogueModel } from "../model.ts";
import type { OpenAiServer } from "./openai-servers.ts";

/** For whom a context is written. */
export interface ConvertOptions {
  model: CatalogueModel;
  server: OpenAiServer;
}

/** What a message says in the user's place; nothing for answers, tool results and what no model sees. */
export function userParts(message: Message): UserContent[] {
  return soundContent(userContent(message));
}

/** The blocks of an answer that can be sent: content of old and damaged files may hold others. */
export function answerBlocks(message: AssistantMessage): AssistantContent[] {
  return (contentBlocks(message.content) as unknown as AssistantContent[]).filter((block) => {
    if (block.type === "text") return typeof block.text === "string" && block.text.trim() !== "";
    return block.type === "thinking" || block.type === "toolCall";
  });
}

/** The text of a result, and its images apart. */
export function resultParts({ content }: ToolResultMessage): { text: string; images: ImageContent[] } {
  const blocks = soundContent(content);
  const images = blocks.filter((block) => block.type === "image");
  const text = blocks.map((block) => (block.type === "text" ? block.text : "")).filter((part) => part !== "");
  const none = images.length > 0 ? "(an image)" : "(no output)";
  return { text: text.join("\n") || none, images };
}

/** Images of tool results in an API whose results take only text. */
export function imagesOfResults(images: readonly ImageContent[]): UserContent[] {
  if (images.length === 0) return [];
  const { begin, end } = resultImagesFrame(images.length);
  return [{ type: "text", text: begin }, ...images, { type: "text", text: end }];
}

export function dataUrl({ mimeType, data }: ImageContent): string {
  return `data:${mimeType};base64,${data}`;
}

/** What stands, as JSON, in a signature that we wrote; nothing for those of others. */
export function signedObject({ thinkingSignature }: ThinkingContent): Record<string, unknown> | undefined {
  return jsonObject(thinkingSignature);
}

/** A JSON object in a text, or nothing. */
export function jsonObject(text: string | undefined): Record<string, unknown> | undefined {
  if (!text?.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isTooDeep(value) ? undefined : (value as Record<string, unknown>);
  } catch {
    // Not ours: other protocols sign with what is no JSON.
    return undefined;
  }
}

function soundContent(content: unknown): UserContent[] {
  return (contentBlocks(content) as unknown as UserContent[]).filter((block) =>
    block.type === "text"
      ? typeof block.text === "string" && block.text !== ""
      : block.type === "image" && typeof block.data === "string" && block.data !== "",
  );
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "call_";

/**
 * An id of a tool call as a server takes it. An id that came from another provider and does not fit is replaced by one
 * that depends on nothing but itself, so that call and result agree and the cached prefix stays the same.
 */
export function wireCallId(id: string, { pattern, madeChars }: OpenAiServer["callId"]): string {
  if (pattern.test(id)) return id;
  const digest = createHash("sha256").update(id).digest();
  const made = Array.from(digest, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return madeChars > PREFIX.length + 8 ? `${PREFIX}${made}`.slice(0, madeChars) : made.slice(0, madeChars);
}
