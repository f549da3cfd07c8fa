import type {
  CachePointBlock,
  ContentBlock,
  ConverseStreamCommandInput,
  ImageFormat,
  Message,
  SystemContentBlock,
  Tool,
  ToolResultContentBlock,
} from "@aws-sdk/client-bedrock-runtime";
import type { ProviderStreamRequest } from "@bonsai-agent/extension";
import { type ProviderTurn, providerTurns, type ResultPart } from "@bonsai-agent/extension/providers";
import { type BedrockFamily, familyOf } from "./bedrock-family.ts";

type Document = NonNullable<ConverseStreamCommandInput["additionalModelRequestFields"]>;

/** The request for ConverseStream. Pure; its beginning is the same from turn to turn, for the cache. */
export function converseRequest(request: ProviderStreamRequest): ConverseStreamCommandInput {
  const { model, systemPrompt, maxOutputTokens, thinking = "off" } = request;
  const family = familyOf(model.id);
  const turns = providerTurns(request.messages, model);
  const caches = isOneOff(request) ? [] : family.caches;
  const messages = turns.flatMap((turn) => wireMessage(turn, family));
  const fields = model.reasoning
    ? family.thinking({
        model,
        level: thinking,
        maxOutputTokens,
        isTurnWithoutThinking: isTurnWithoutThinking(turns),
      })
    : {};
  const cap = family.isUncapped(fields) ? undefined : maxOutputTokens;
  return {
    modelId: model.id,
    messages: caches.includes("messages") ? withCachePoints(messages) : messages,
    ...(systemPrompt.trim() !== "" && { system: systemBlocks(systemPrompt, caches.includes("system")) }),
    ...(cap !== undefined && { inferenceConfig: { maxTokens: cap } }),
    ...toolConfig(request, turns, caches.includes("tools")),
    ...(Object.keys(fields).length > 0 && { additionalModelRequestFields: fields as Document }),
  };
}

const cachePoint: CachePointBlock = { type: "default" };

/** Cache points at the user's last two messages. Bedrock allows four. */
const USER_CACHE_POINTS = 2;

/** Single questions never use their prefix again. */
function isOneOff({ purpose, messages }: ProviderStreamRequest): boolean {
  return purpose !== "turn" && !messages.some(({ role }) => role === "assistant");
}

function systemBlocks(text: string, isCached: boolean): SystemContentBlock[] {
  return [{ text }, ...(isCached ? [{ cachePoint } as const] : [])];
}

/** Bedrock refuses calls without their tools, so the called tools are declared even if none is offered. */
function toolConfig(
  { tools }: ProviderStreamRequest,
  turns: readonly ProviderTurn[],
  isCached: boolean,
): Pick<ConverseStreamCommandInput, "toolConfig"> {
  const specs: Tool[] = tools.map(({ name, description, parameters }) => ({
    toolSpec: {
      name,
      ...(description !== "" && { description }),
      inputSchema: { json: { ...parameters, type: "object" } as Document },
    },
  }));
  const declared = specs.length > 0 ? specs : calledNames(turns).map(calledTool);
  if (declared.length === 0) return {};
  return { toolConfig: { tools: [...declared, ...(isCached ? [{ cachePoint } as Tool] : [])] } };
}

function calledNames(turns: readonly ProviderTurn[]): string[] {
  const names = turns.flatMap(({ content }) =>
    content.flatMap((part) => (part.type === "toolCall" ? [part.name] : [])),
  );
  return [...new Set(names)].sort();
}

function calledTool(name: string): Tool {
  const description = "This tool was called earlier and is no longer available.";
  return { toolSpec: { name, description, inputSchema: { json: { type: "object" } } } };
}

/** True for results of a turn whose first answer has no thinking: Bedrock refuses a budget there. */
function isTurnWithoutThinking(turns: readonly ProviderTurn[]): boolean {
  const hasResults = (turn: ProviderTurn | undefined) => turn?.content[0]?.type === "result";
  if (!hasResults(turns.at(-1))) return false;
  const asked = turns.findLastIndex((turn) => turn.role === "user" && !hasResults(turn));
  return turns.slice(asked + 1).find(({ role }) => role === "assistant")?.content[0]?.type !== "thinking";
}

function wireMessage(turn: ProviderTurn, family: BedrockFamily): Message[] {
  const content =
    turn.role === "user"
      ? turn.content.flatMap((part) => (part.type === "result" ? [] : userBlock(part)))
      : turn.content.flatMap((part) => answerBlock(part, family));
  const results = turn.role === "user" ? resultBlocks(turn.content.filter(isResult), family) : [];
  const all = [...results, ...content];
  return all.length === 0 ? [] : [{ role: turn.role, content: all }];
}

function isResult(part: { type: string }): part is ResultPart {
  return part.type === "result";
}

type UserPart = Exclude<Extract<ProviderTurn, { role: "user" }>["content"][number], ResultPart>;
type AnswerPart = Extract<ProviderTurn, { role: "assistant" }>["content"][number];

function userBlock(part: UserPart): ContentBlock & ToolResultContentBlock {
  if (part.type === "text") return { text: part.text };
  const format = imageFormats[part.mimeType];
  if (format === undefined)
    return {
      text: `[Image of type ${part.mimeType} omitted: this model accepts only JPEG, PNG, GIF and WebP]`,
    };
  return { image: { format, source: { bytes: Buffer.from(part.data, "base64") } } };
}

const imageFormats: Readonly<Record<string, ImageFormat>> = {
  "image/jpeg": "jpeg",
  "image/png": "png",
  "image/gif": "gif",
  "image/webp": "webp",
};

/** Results of one batch come first in one message. Claude accepts only text in a failed one. */
function resultBlocks(results: readonly ResultPart[], { name }: BedrockFamily): ContentBlock[] {
  const behind: ContentBlock[] = [];
  const blocks = results.map(({ callId, content, isError }): ContentBlock => {
    const parts = content.map((part) => ({ isImage: part.type === "image", block: userBlock(part) }));
    const isSplit = isError && name === "claude";
    if (isSplit) behind.push(...parts.filter(({ isImage }) => isImage).map(({ block }) => block));
    const inside = parts.filter(({ isImage }) => !(isSplit && isImage)).map(({ block }) => block);
    return {
      toolResult: {
        toolUseId: callId,
        content: inside.length > 0 ? inside : [{ text: "(no output)" }],
        ...(isError && (name === "claude" || name === "nova") && { status: "error" }),
      },
    };
  });
  return [...blocks, ...behind];
}

function answerBlock(part: AnswerPart, { isSigned }: BedrockFamily): ContentBlock[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ text: part.text }];
    case "toolCall":
      return [{ toolUse: { toolUseId: part.id, name: part.name, input: part.arguments as Document } }];
    default:
      return thinkingBlock(part, isSigned);
  }
}

/** Sends thinking back unchanged. Claude refuses it without its signature; other models refuse a signature. */
function thinkingBlock(part: Extract<AnswerPart, { type: "thinking" }>, isSigned: boolean): ContentBlock[] {
  const { thinking = "", thinkingSignature: signature, redacted } = part;
  if (redacted) {
    const redactedContent = Buffer.from(signature ?? "", "base64");
    return redactedContent.length === 0 ? [] : [{ reasoningContent: { redactedContent } }];
  }
  if (isSigned)
    return signature ? [{ reasoningContent: { reasoningText: { text: thinking, signature } } }] : [];
  return thinking.trim() === "" ? [] : [{ reasoningContent: { reasoningText: { text: thinking } } }];
}

function withCachePoints(messages: readonly Message[]): Message[] {
  let left = USER_CACHE_POINTS;
  return messages
    .toReversed()
    .map((message) => {
      if (message.role !== "user" || left === 0) return message;
      left -= 1;
      return { ...message, content: [...(message.content ?? []), { cachePoint }] };
    })
    .toReversed();
}
