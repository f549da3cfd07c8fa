import {
  amount,
  type FieldRule,
  type Fields,
  flag,
  isFields,
  isMet,
  isText,
  mendFields,
  optional,
  text,
} from "./field-rule.ts";
import { mendUsage } from "./sound-usage.ts";

const number = (field: string): FieldRule => ({ field, isSound: Number.isFinite, safe: () => undefined });
const CONTENT: FieldRule = { field: "content", isSound: isContent, safe: soundContent };
const TIMESTAMP = optional(number("timestamp"));
const ROLE: readonly FieldRule[] = [text("role", "unknown")];

/** By role. Content may be missing or null: that reads as empty everywhere. */
const FIELDS = new Map<unknown, readonly FieldRule[]>([
  ["user", [CONTENT, TIMESTAMP]],
  [
    "assistant",
    [
      CONTENT,
      TIMESTAMP,
      ...[
        "api",
        "provider",
        "model",
        "stopReason",
        "rawStopReason",
        "errorMessage",
        "responseModel",
        "responseId",
      ].map((field) => optional(text(field))),
    ],
  ],
  ["toolResult", [CONTENT, TIMESTAMP, text("toolCallId"), text("toolName", "unknown"), flag("isError")]],
  [
    "bashExecution",
    [
      TIMESTAMP,
      text("command"),
      text("output"),
      {
        field: "exitCode",
        isSound: (value) => value === null || value === undefined || Number.isFinite(value),
        safe: () => undefined,
      },
      flag("cancelled"),
      flag("truncated"),
      flag("excludeFromContext"),
      optional(text("fullOutputPath")),
    ],
  ],
  ["branchSummary", [TIMESTAMP, text("summary")]],
  ["compactionSummary", [TIMESTAMP, text("summary"), optional(amount("tokensBefore"))]],
  ["custom", [CONTENT, TIMESTAMP, text("customType", "unknown"), flag("display")]],
]);

const TEXT_FIELDS = new Map<unknown, readonly FieldRule[]>([
  ["text", [text("text"), optional(text("textSignature"))]],
  ["thinking", [text("thinking"), optional(text("thinkingSignature"))]],
  ["image", [text("data"), text("mimeType", "unknown")]],
  [
    "toolCall",
    [text("id"), text("name", "unknown"), { field: "arguments", isSound: isFields, safe: () => ({}) }],
  ],
]);

/**
 * Puts safe values where a message has odd ones, in place. A role that nobody knows stays what it is.
 * @param odd gets the names of those fields.
 */
export function mendMessage(message: Fields, odd: string[] | undefined): void {
  const note = { odd, prefix: "message." };
  mendFields(message, ROLE, note);
  const rules = FIELDS.get(message.role);
  if (rules === undefined) return;
  mendFields(message, rules, note);
  mendUsage(message, note);
}

export function isContent(content: unknown): boolean {
  if (content === undefined || content === null || isText(content)) return true;
  return Array.isArray(content) && content.every(isBlock);
}

/** The blocks that can be read. */
export function soundContent(content: unknown): unknown {
  if (!Array.isArray(content)) return [];
  const blocks = content.filter((block): block is Fields => isFields(block) && isText(block.type));
  for (const block of blocks) mendFields(block, TEXT_FIELDS.get(block.type) ?? [], { odd: undefined });
  return blocks;
}

function isBlock(block: unknown): boolean {
  if (!isFields(block) || !isText(block.type)) return false;
  const rules = TEXT_FIELDS.get(block.type);
  return rules === undefined || rules.every((rule) => isMet(rule, block));
}
