import { BonsaiError, type UserContent } from "@bonsai-agent/messages";
import {
  blocksOf,
  contentOf,
  type Format,
  field,
  type Part,
  type Piece,
  partsOf,
  textBlock,
  textField,
  withPart,
} from "./units.ts";

/**
 * The SDK whose messages a list contains: `ModelMessage` of `ai`, `ChatCompletionMessageParam` or `ResponseInputItem` of
 * `openai`, `MessageParam` of `@anthropic-ai/sdk`.
 */
export type MessageFormat = keyof typeof formats;

/** @throws BonsaiError `compact_format_unknown` */
export function formatOf(name: MessageFormat): Format {
  if (Object.hasOwn(formats, name)) return formats[name];
  throw new BonsaiError({
    /** The format of a message list has an unknown name. */
    code: "compact_format_unknown",
    message: `Unknown message format: ${String(name)}.`,
    hint: `Use one of: ${Object.keys(formats).join(", ")}.`,
  });
}

/** `ModelMessage` of `ai` 7, and `LanguageModelV4Prompt`, which differs in its file data. */
const aiSdk: Format = {
  read: (message) => partsOf(field(message, "content")).map(readAiSdkPart),
  withResult: (message, at, text) =>
    withPart(message, at, ({ output }) => {
      const type = textField(output, "type").startsWith("error") ? "error-text" : "text";
      return { output: { type, value: text } };
    }),
  content: (text) => [textBlock(text)],
};

function readAiSdkPart(part: Part): Piece {
  const id = textField(part, "toolCallId");
  const approvalId = `approval ${part.approvalId}`;
  switch (part.type) {
    case "reasoning":
      return { kind: "thinking", text: textField(part, "text") };
    case "tool-call":
      return { kind: "call", id, name: textField(part, "toolName"), input: part.input };
    case "tool-result": {
      const isError = /^(?:error|execution-denied)/.test(textField(part.output, "type"));
      return { kind: "result", id, blocks: outputBlocks(part.output), isError };
    }
    case "tool-approval-request":
      return { kind: "request", id: approvalId, callId: id };
    case "tool-approval-response": {
      const isApproved = part.approved === true;
      return { kind: "decision", id: approvalId, isApproved, reason: textField(part, "reason") };
    }
    default:
      return { kind: "content", blocks: contentOf(part) };
  }
}

function outputBlocks(output: unknown): UserContent[] {
  const value = field(output, "value");
  if (field(output, "type") === "execution-denied")
    return [textBlock(`Execution denied. ${textField(output, "reason")}`.trim())];
  return field(output, "type") === "json" ? [textBlock(JSON.stringify(value))] : blocksOf(value ?? output);
}

/** `MessageParam` of `@anthropic-ai/sdk`. */
const anthropic: Format = {
  read: (message) => partsOf(field(message, "content")).map(readAnthropicBlock),
  withResult: (message, at, text) => withPart(message, at, () => ({ content: text })),
  withText(message, text) {
    const results = partsOf(field(message, "content")).filter(({ type }) => type === "tool_result");
    return { ...message, content: [...results, textBlock(text)] };
  },
  acknowledgement: "I have read the record.",
};

function readAnthropicBlock(block: Part): Piece {
  if (block.type === "thinking" || block.type === "redacted_thinking")
    return { kind: "thinking", text: textField(block, "thinking") };
  const [id, usedId] = [textField(block, "id"), textField(block, "tool_use_id")];
  if (block.type.endsWith("tool_use") && id !== "")
    return { kind: "call", id, name: textField(block, "name"), input: block.input };
  if (usedId === "") return { kind: "content", blocks: contentOf(block) };
  const blocks = block.type === "tool_result" ? blocksOf(block.content ?? "") : contentOf(block);
  return { kind: "result", id: usedId, blocks, isError: block.is_error === true };
}

/** `ChatCompletionMessageParam` of `openai`. */
const openaiChat: Format = {
  read(message) {
    const blocks = blocksOf(field(message, "content") ?? "");
    const role = textField(message, "role");
    if (role === "tool" || role === "function")
      return [{ kind: "result", id: textField(message, "tool_call_id") || formerId(message), blocks }];
    const refusal = textField(message, "refusal");
    if (refusal !== "") blocks.push(textBlock(refusal));
    return [{ kind: "content", blocks }, ...chatCalls(message)];
  },
  withResult: (message, _part, text) => ({ ...message, content: text }),
};

function chatCalls(message: object): Piece[] {
  const former = field(message, "function_call");
  const calls = [field(message, "tool_calls") ?? []].flat();
  return [...calls, ...(former ? [{ id: formerId(former), function: former }] : [])].map((call) => {
    const called = field(call, "function") ?? field(call, "custom");
    const input = field(called, "arguments") ?? field(called, "input");
    return { kind: "call", id: textField(call, "id"), name: textField(called, "name"), input };
  });
}

/** Calls of the former kind have no id. */
function formerId(call: unknown): string {
  return `function ${textField(call, "name")}`;
}

const ANSWER_ITEMS: ReadonlySet<string> = new Set(["reasoning", "mcp_approval_request", "item_reference"]);

/** `ResponseInputItem` of `openai`. The API refuses reasoning without the item after it. */
const openaiResponses: Format = {
  side(item) {
    const [type, role] = [itemType(item), field(item, "role")];
    if (type === "message") return role === "user" ? "input" : role === "assistant" ? "answer" : undefined;
    if (type === "mcp_approval_response") return "input";
    if (textField(item, "call_id") !== "") return type.endsWith("_output") ? "input" : "answer";
    return type.endsWith("_call") || ANSWER_ITEMS.has(type) ? "answer" : undefined;
  },
  read: (item) => [readResponsesItem(item)],
  withResult: (item, _part, text) => ({ ...item, output: text }),
  joinsAnswers: true,
};

function itemType(item: object): string {
  return textField(item, "type") || "message";
}

function readResponsesItem(item: object): Piece {
  const type = itemType(item);
  const name = textField(item, "name") || type;
  const id = textField(item, type === "mcp_approval_request" ? "id" : "call_id");
  const input = field(item, "arguments") ?? field(item, "input") ?? field(item, "action");
  if (type === "message") return { kind: "content", blocks: blocksOf(field(item, "content")) };
  if (type === "reasoning") {
    const texts = partsOf(field(item, "summary")).map((part) => textField(part, "text"));
    return { kind: "thinking", text: texts.join("\n") };
  }
  if (type === "mcp_approval_response") {
    const [isApproved, reason] = [field(item, "approve") === true, textField(item, "reason")];
    return { kind: "decision", id: textField(item, "approval_request_id"), isApproved, reason };
  }
  if (id === "") return { kind: "content", blocks: contentOf({ ...item, type }, name) };
  if (!type.endsWith("_output")) return { kind: "call", id, name, input };
  const isError = field(item, "status") === "failed";
  return { kind: "result", id, blocks: blocksOf(field(item, "output") ?? item), isError };
}

const formats = {
  "ai-sdk": aiSdk,
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
};
