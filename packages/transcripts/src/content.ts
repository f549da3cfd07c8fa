import { MASK_PLACEHOLDER } from "@bonsai-agent/compaction";
import type {
  AssistantContent,
  AssistantMessage,
  ImageContent,
  StopReason,
  TextContent,
  ToolResultMessage,
  Usage,
  UserContent,
} from "@bonsai-agent/messages";
import { emptyUsage } from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { isFields } from "./fields.ts";

/** Stands for a result that the transcript does not have. */
export const MISSING_RESULT = "[No result: the transcript ends or was interrupted before this call finished]";

export function text(value: string): TextContent {
  return { type: "text", text: value };
}

/** The image of a `data:` URL; undefined for any other URL. */
export function imageOfUrl(url: string | undefined): ImageContent | undefined {
  const match = /^data:([^;,]+)[^,]*;base64,/.exec(url?.slice(0, 200) ?? "");
  if (url === undefined || match === null) return undefined;
  return { type: "image", mimeType: match[1]!, data: url.slice(match[0].length) };
}

/** Arguments as an object: a JSON string is parsed, anything else becomes the field `input`. */
export function callArguments(value: unknown): Record<string, unknown> {
  if (isFields(value)) return { ...value };
  if (typeof value !== "string") return {};
  try {
    const parsed: unknown = JSON.parse(value);
    if (isFields(parsed)) return { ...parsed };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return value === "" ? {} : { input: value };
}

/** Which wire protocol a provider's models are spoken to with; decides how signatures are replayed. */
export function apiOf(provider: string): string {
  if (provider.includes("anthropic")) return "anthropic-messages";
  if (provider.includes("openai") || provider === "codex") return "openai-responses";
  if (provider.includes("google") || provider.includes("gemini")) return "google-generative-ai";
  return "openai-completions";
}

export function assistantDraft(options: {
  content: AssistantContent[];
  provider: string;
  model: string;
  at: string | undefined;
  usage?: Usage | undefined;
  stopReason?: StopReason | undefined;
  errorMessage?: string | undefined;
}): EntryDraft & { type: "message"; message: AssistantMessage } {
  const calls = options.content.some((block) => block.type === "toolCall");
  const message: AssistantMessage = {
    role: "assistant",
    content: options.content,
    api: apiOf(options.provider),
    provider: options.provider,
    model: options.model,
    usage: options.usage ?? emptyUsage(),
    stopReason: options.stopReason ?? (calls ? "toolUse" : "stop"),
    timestamp: milliseconds(options.at),
  };
  if (options.errorMessage !== undefined) message.errorMessage = options.errorMessage;
  return { type: "message", message };
}

export function resultDraft(options: {
  callId: string;
  toolName: string;
  content: UserContent[];
  isError: boolean;
  at: string | undefined;
}): EntryDraft & { type: "message"; message: ToolResultMessage } {
  return {
    type: "message",
    message: {
      role: "toolResult",
      toolCallId: options.callId,
      toolName: options.toolName,
      content: options.content,
      isError: options.isError,
      timestamp: milliseconds(options.at),
    },
  };
}

/** What the user said: plain text stays a string. */
export function userDraft(content: UserContent[], at: string | undefined): EntryDraft {
  const only = content.length === 1 ? content[0] : undefined;
  return {
    type: "message",
    message: {
      role: "user",
      content: only?.type === "text" ? only.text : content,
      timestamp: milliseconds(at),
    },
  };
}

/** What a program put into the conversation in the user's role: never taken for the user's own words. */
export function injectedDraft(
  customType: string,
  content: string | UserContent[],
): Extract<EntryDraft, { type: "custom_message" }> {
  return { type: "custom_message", customType, content, display: false };
}

/** Leaves a step out of the model's view. */
export function omitDraft(key: string): EntryDraft {
  return { type: "context_edit", targetId: key, replacement: null };
}

/** Replaces a tool result in the model's view; the stored one stays. */
export function maskDraft(key: string, placeholder: string = MASK_PLACEHOLDER): EntryDraft {
  return { type: "context_edit", targetId: key, replacement: { content: [text(placeholder)] } };
}

/** An item that only its maker can read, kept whole. */
export function unreadableDraft(format: string, item: unknown): EntryDraft {
  return { type: "custom", customType: "bonsai.unreadable", data: { format, item } };
}

/** Milliseconds since the epoch; 0 where the transcript has no time. */
export function milliseconds(at: string | undefined): number {
  return at === undefined ? 0 : Date.parse(at);
}
