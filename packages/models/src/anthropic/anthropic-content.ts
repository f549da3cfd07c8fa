import type {
  ImageBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import { contentBlocks, type ToolResultMessage } from "@bonsai-agent/messages";
import { anthropicCallId } from "./anthropic-call-id.ts";

/** The blocks that a user-role message is made of here. */
export type UserBlock = TextBlockParam | ImageBlockParam | ToolResultBlockParam;

type ImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

const imageTypes: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** A text block; none for a text of nothing but white space, which the API refuses. */
export function textBlocks(text: unknown): TextBlockParam[] {
  return typeof text === "string" && text.trim() !== "" ? [{ type: "text", text }] : [];
}

/** Text and images of a content value. */
export function userBlocks(content: unknown): (TextBlockParam | ImageBlockParam)[] {
  return contentBlocks(content).flatMap((block) =>
    block.type === "image" ? imageBlocks(block) : block.type === "text" ? textBlocks(block.text) : [],
  );
}

/** A tool's result; the images of a failed one stand behind it, since the API takes only text inside. */
export function resultBlocks({ toolCallId, content, isError }: ToolResultMessage): UserBlock[] {
  const blocks = userBlocks(content);
  const inside = isError ? blocks.filter((block) => block.type === "text") : blocks;
  const behind = isError ? blocks.filter((block) => block.type === "image") : [];
  const result: ToolResultBlockParam = {
    type: "tool_result",
    tool_use_id: anthropicCallId(toolCallId),
    ...(inside.length > 0 && { content: inside }),
    ...(isError && { is_error: true }),
  };
  return [result, ...behind];
}

function imageBlocks({ data, mimeType }: Record<string, unknown>): (TextBlockParam | ImageBlockParam)[] {
  if (typeof data !== "string" || data === "") return [];
  if (!isImageType(mimeType)) {
    return textBlocks(`[An image of type ${String(mimeType)}: this model sees JPEG, PNG, GIF and WebP only]`);
  }
  return [{ type: "image", source: { type: "base64", media_type: mimeType, data } }];
}

function isImageType(mimeType: unknown): mimeType is ImageType {
  return typeof mimeType === "string" && imageTypes.includes(mimeType);
}
