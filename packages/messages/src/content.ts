import { z } from "zod";

/** Plain text. */
export interface TextContent {
  type: "text";
  text: string;
}

/** An image, base64-encoded. */
export interface ImageContent {
  type: "image";
  /** Base64, without a data-URL prefix. */
  data: string;
  mimeType: string;
}

/** A model's reasoning; `thinkingSignature` binds it to the request prefix it was made for. */
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
}

/** A call of a tool by the model. */
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export type UserContent = TextContent | ImageContent;
export type AssistantContent = TextContent | ThinkingContent | ToolCall;

export const textContentSchema = z.looseObject({ type: z.literal("text"), text: z.string() });
export const imageContentSchema = z.looseObject({
  type: z.literal("image"),
  data: z.string(),
  mimeType: z.string(),
});
export const thinkingContentSchema = z.looseObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  thinkingSignature: z.string().optional(),
});
export const toolCallSchema = z.looseObject({
  type: z.literal("toolCall"),
  id: z.string(),
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()),
});
export const userContentSchema = z.discriminatedUnion("type", [textContentSchema, imageContentSchema]);
export const assistantContentSchema = z.discriminatedUnion("type", [
  textContentSchema,
  thinkingContentSchema,
  toolCallSchema,
]);
