/** Plain text. */
export interface TextContent {
  type: "text";
  text: string;
  /** Opaque: given back to the provider as it came, here and in the other signatures. */
  textSignature?: string | undefined;
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
  thinkingSignature?: string | undefined;
  /** True when the provider withheld the text: all there is stands, encrypted, in the signature. */
  redacted?: boolean | undefined;
}

/** A call of a tool by the model. */
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  thoughtSignature?: string | undefined;
  /** Where the provider keeps tools apart that were loaded later. */
  namespace?: string | undefined;
}

export type UserContent = TextContent | ImageContent;
export type AssistantContent = TextContent | ThinkingContent | ToolCall;
