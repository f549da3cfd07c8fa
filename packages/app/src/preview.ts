import { contentBlocks, jsonText, type Message, messageText, toolCalls } from "@bonsai-agent/messages";
import { type Entry, pinChange, kindWord as wordOf } from "@bonsai-agent/session";
import { oneLine } from "./terminal-text.ts";

/** What kind of thing an entry is, in one short word for a column. */
export function kindOf(entry: Entry): string {
  if (pinChange(entry) !== undefined) return "pin";
  return kindWord(entry.type === "message" ? entry.message?.role : entry.type);
}

const maxKindLength = 24;

/** A message's role or an entry's type as a short word for a column. */
export function kindWord(kind: unknown): string {
  if (typeof kind !== "string" || kind === "damagedMessage") return "damaged";
  return oneLine(wordOf(kind), maxKindLength);
}

/** An entry in one line. */
export function previewOf(entry: Entry): string {
  switch (entry.type) {
    case "message":
      return typeof entry.message === "object" && entry.message !== null
        ? messagePreview(entry.message)
        : "(no message)";
    case "compaction":
    case "branch_summary":
      return summaryPreview(entry.summary);
    case "custom_message":
      return pinPreview(entry) ?? oneLine(`${word(entry.customType)}: ${previewText(entry.content)}`);
    case "model_change":
      return oneLine(`${word(entry.provider)}/${word(entry.modelId)}`);
    case "thinking_level_change":
      return oneLine(word(entry.thinkingLevel));
    case "session_info":
      return oneLine(word(entry.name ?? ""));
    case "label":
      return oneLine(
        `${entry.label === undefined ? "cleared" : word(entry.label)} at ${word(entry.targetId)}`,
      );
    case "context_edit":
      return oneLine(`${entry.replacement === null ? "omits" : "replaces"} ${word(entry.targetId)}`);
    case "custom":
      return oneLine(word(entry.customType ?? ""));
    case "usage":
      return oneLine(`${word(entry.provider)}/${word(entry.model)}`);
    default:
      // A type of another program, never one of ours.
      entry satisfies never;
      return "";
  }
}

function pinPreview(entry: Entry): string | undefined {
  const change = pinChange(entry);
  return change && oneLine(`${change.isPinned ? "" : "unpinned: "}${change.text}`);
}

/** A message in one line: its text, else its calls, else what else it holds. */
export function messagePreview(message: Message): string {
  switch (message.role) {
    case "assistant":
      return oneLine(
        [messageText(message), callsPreview(message), stopPreview(message)].filter(Boolean).join(" "),
      );
    case "toolResult":
      return oneLine(
        `${word(message.toolName)}${message.isError === true ? " failed" : ""}: ${previewText(message.content)}`,
      );
    case "bashExecution":
      return oneLine(`$ ${word(message.command)}`);
    case "branchSummary":
    case "compactionSummary":
      return summaryPreview(message.summary);
    default:
      return oneLine(previewText(message.content));
  }
}

/** Of a summary, no more is looked at. */
const PREVIEWED_CHARS = 4_000;

/** A summary begins with sentences in brackets that tell the model what it is: no news for a human. */
function summaryPreview(summary: unknown): string {
  const body = word(summary ?? "")
    .slice(0, PREVIEWED_CHARS)
    .replace(/^(?:\[[^\]]*\]\s*)+/, "");
  return oneLine(body.replace(/^#{1,6} +(.*?):?\s*$/gm, "$1:"));
}

function previewText(content: unknown): string {
  const blocks = contentBlocks(content);
  const images = blocks.filter((block) => block.type === "image").length;
  const text = blocks.map((block) => (block.type === "text" ? word(block.text ?? "") : "")).join(" ");
  return `${text}${images > 0 ? ` [${images === 1 ? "image" : `${images} images`}]` : ""}`;
}

function callsPreview(message: Message): string {
  return toolCalls(message)
    .map((call) => `${word(call.name)}(${argumentPreview(call.arguments)})`)
    .join(" ");
}

/** A call of a tool in one line, for who watches it run. */
export function callPreview(name: string, args: unknown): string {
  return oneLine(`${name} ${argumentPreview(args)}`, 160);
}

/** The error of a tool: its first line, or where a note like `[Exit code 1.]` ends it, what came right before. */
export function failurePreview(content: unknown): string {
  const lines = previewText(content)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const shown = lines.at(-1)?.startsWith("[") ? lines.slice(-2) : lines.slice(0, 1);
  return oneLine(shown.join(" "), 160);
}

/** The most telling argument: a path or command when there is one. */
function argumentPreview(args: unknown): string {
  if (typeof args !== "object" || args === null) return "";
  const named = args as Record<string, unknown>;
  const value = named.path ?? named.file_path ?? named.command ?? Object.values(named)[0];
  return typeof value === "string"
    ? value.slice(0, 120)
    : value === undefined
      ? ""
      : jsonText(value).slice(0, 120);
}

function stopPreview(message: Message): string {
  if (message.role !== "assistant") return "";
  if (message.stopReason === "error")
    return `[failed: ${typeof message.errorMessage === "string" ? message.errorMessage : "no reason given"}]`;
  return message.stopReason === "aborted" || message.stopReason === "length" ? `[${message.stopReason}]` : "";
}

/** Damaged files hold anything where a word should be. */
function word(value: unknown): string {
  return typeof value === "string" ? value : "?";
}
