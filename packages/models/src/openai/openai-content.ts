import { createHash } from "node:crypto";
import {
  contentText,
  type ImageContent,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";
import { exceedsJsonDepth, FRAMES } from "@bonsai-agent/messages/host";
import type { CatalogueModel } from "../model.ts";
import type { OpenAiServer } from "./openai-servers.ts";

export interface ConvertOptions {
  model: CatalogueModel;
  server: OpenAiServer;
}

export function resultParts({ content }: ToolResultMessage): { text: string; images: ImageContent[] } {
  const images = content.filter((block) => block.type === "image");
  return { text: contentText(content) || "(an image)", images };
}

/** Images of tool results, for an API that accepts only text there. */
export function imagesOfResults(images: readonly ImageContent[]): UserContent[] {
  if (images.length === 0) return [];
  const { begin, end } = FRAMES.resultImages(images.length);
  return [{ type: "text", text: begin }, ...images, { type: "text", text: end }];
}

export function dataUrl({ mimeType, data }: ImageContent): string {
  return `data:${mimeType};base64,${data}`;
}

/** The JSON object in one of Bonsai's signatures; undefined for other signatures. */
export function jsonObject(text: string | undefined): Record<string, unknown> | undefined {
  if (!text?.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return exceedsJsonDepth(value) ? undefined : (value as Record<string, unknown>);
  } catch {
    return undefined;
  }
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
