import {
  callsIn,
  contentBlocks,
  contentText,
  jsonText,
  type Message,
  SecretFilter,
  type ToolCall,
  withoutReminders,
} from "@bonsai-agent/messages";
import { askedText, clip, escapeTags, frameTags, paragraphs, recalledIds } from "@bonsai-agent/messages/host";
import type { CompactionSettings } from "../settings.ts";

type Limits = CompactionSettings["serialize"];

/** About 500 tokens, as for a tool result: the head and the tail of a call or a command identify it. */
const CALL_CHARS = 2_000;
const COMMAND_CHARS = 2_000;
/** About 5,000 tokens: only a pasted file is longer, and a request or an answer is the text to summarise. */
const USER_CHARS = 20_000;
const ASSISTANT_CHARS = 20_000;

const roleMark = /^\[(?=(?:User|Assistant|Tool result|Extension|Branch summary|Earlier summary)\b)/gm;

/**
 * Messages as text without secrets, one part each, so that a summariser reads a conversation instead of continuing it.
 */
export function serialise(
  messages: readonly Message[],
  limits: Limits,
  secrets: SecretFilter = new SecretFilter(),
): string[] {
  const redacted = secrets.values(messages);
  return redacted.map((message) => serialiseMessage(message, limits)).filter((part) => part !== "");
}

function serialiseMessage(message: Message, limits: Limits): string {
  switch (message.role) {
    case "user":
      return marked("User", body(message.content, USER_CHARS, askedText(message)));
    case "assistant":
      return assistantPart(message);
    case "toolResult": {
      const failed = message.isError ? ", failed" : "";
      const copied = recalledIds(message) === undefined ? "" : ", a copy of earlier entries";
      return marked(
        `Tool result ${message.toolName}${failed}${copied}`,
        body(message.content, limits.toolResultChars),
      );
    }
    case "bashExecution":
      return commandPart(message);
    case "custom":
      return isOwnReminder(message)
        ? ""
        : marked(`Extension ${message.customType}`, body(message.content, USER_CHARS));
    case "branchSummary":
      return marked("Branch summary", safe(clip(textIn(message.summary), ASSISTANT_CHARS)));
    case "compactionSummary":
      return marked("Earlier summary", safe(clip(textIn(message.summary), ASSISTANT_CHARS)));
    case "system":
      return "";
    default:
      // A new role does not compile without its case. An unknown role adds no text.
      message satisfies never;
      return "";
  }
}

function marked(mark: string, text: string): string {
  return text === "" ? "" : `[${mark}]: ${text}`;
}

function assistantPart(message: Message & { role: "assistant" }): string {
  const text = marked("Assistant", body(message.content, ASSISTANT_CHARS));
  const calls = callsIn(message).map((call) => callText(call, CALL_CHARS));
  return paragraphs([text, marked("Assistant tool calls", calls.join("; "))]);
}

function callText(call: ToolCall, maxChars: number): string {
  const entries = Object.entries(call.arguments ?? {});
  const share = Math.max(100, Math.floor(maxChars / Math.max(1, entries.length)));
  const shown = entries.map(([name, value]) => `${name}=${clip(jsonText(value), share)}`);
  return safe(`${call.name}(${clip(shown.join(", "), maxChars)})`);
}

function commandPart(message: Message & { role: "bashExecution" }): string {
  if (message.excludeFromContext) return "";
  const code = message.cancelled
    ? " (cancelled)"
    : message.exitCode
      ? ` (exit code ${message.exitCode})`
      : "";
  const command = clip(textIn(message.command), COMMAND_CHARS);
  const output = clip(textIn(message.output) || "(no output)", COMMAND_CHARS);
  return marked("User command", safe(`${command}${code}\n${output}`));
}

/** True for messages that Bonsai adds to the context to keep the model working. */
function isOwnReminder(message: Message & { role: "custom" }): boolean {
  return textIn(message.customType).startsWith("bonsai.");
}

/** Reads a text field of a stored message. A damaged field is empty, so that it does not stop the summary. */
function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function body(content: unknown, maxChars: number, said = contentText(content)): string {
  const text = withoutReminders(said).trim();
  const images = contentBlocks(content).filter((block) => block.type === "image");
  const marks = images.map((image) => `[image ${String(image.mimeType ?? "")}]`.replace(" ]", "]"));
  return [safe(clip(text, maxChars)), ...marks].filter((part) => part !== "").join("\n");
}

/** Escapes frame tags and role marks, so that no message ends its frame or passes for another speaker. */
function safe(text: string): string {
  return escapeTags(text, frameTags).replaceAll(roleMark, "\\[");
}
