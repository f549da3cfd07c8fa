import {
  type AssistantMessage,
  contentBlocks,
  contentText,
  jsonText,
  type ToolCall,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import type { ContextEditEntry, Entry, MessageEntry } from "@bonsai-agent/session";
import { codeBlock, codeSpan, folded, foreignMarkdown, grouped, quoted } from "./markdown-text.ts";

/** What later entries of the same path say about an entry. */
export interface EntryFate {
  /** The latest edit of its view. */
  edit?: ContextEditEntry | undefined;
  /** True for a compaction that was undone. */
  undone?: boolean;
  label?: string | undefined;
}

const HEAD_CHARS = 120;

/** The part of the document that an entry makes; empty for one that has nothing to show. */
export function entryMarkdown(entry: Entry, fate: EntryFate): string {
  const body = bodyOf(entry, fate);
  if (body === "") return "";
  const label = fate.label === undefined ? "" : `*Label: ${foreignMarkdown(fate.label)}*\n\n`;
  return label + body;
}

function bodyOf(entry: Entry, fate: EntryFate): string {
  switch (entry.type) {
    case "message":
      return messageMarkdown(entry, fate);
    case "compaction":
      return compactionMarkdown(entry, fate);
    case "branch_summary":
      return summaryMarkdown(`Summary of the branch that ended at ${codeSpan(entry.fromId)}`, entry.summary);
    case "custom_message":
      return folded(`Note from ${entry.customType}${editMark(fate)}`, contentMarkdown(entry.content));
    case "model_change":
      return `*Model: ${codeSpan(`${entry.provider}/${entry.modelId}`)}*`;
    default:
      return "";
  }
}

function messageMarkdown(entry: MessageEntry, fate: EntryFate): string {
  const { message } = entry;
  switch (message?.role) {
    case "user":
      return section("User", entry, fate, contentMarkdown(message.content));
    case "assistant":
      return section("Assistant", entry, fate, answerMarkdown(message));
    case "toolResult":
      return resultMarkdown(message, fate);
    case "bashExecution":
      return section("Command", entry, fate, codeBlock(`$ ${message.command}\n${message.output}`, "console"));
    case "custom":
      return folded(`Note from ${message.customType}`, contentMarkdown(message.content));
    default:
      return "";
  }
}

function section(title: string, entry: Entry, fate: EntryFate, body: string): string {
  return `## ${title}${editMark(fate)}\n\n<sub>${entry.timestamp} · ${entry.id}</sub>\n\n${body}`;
}

function editMark({ edit }: EntryFate): string {
  if (edit === undefined) return "";
  return edit.replacement === null ? " (left out of the model's view)" : " (replaced in the model's view)";
}

function answerMarkdown(message: AssistantMessage): string {
  const blocks = contentBlocks(message.content).map((block) => {
    if (block.type === "text") return foreignMarkdown(String(block.text ?? ""));
    if (block.type === "thinking") return thinkingMarkdown(String(block.thinking ?? ""));
    return block.type === "toolCall" ? callMarkdown(block as unknown as ToolCall) : "";
  });
  const failure =
    message.errorMessage === undefined ? "" : `**Failed:** ${foreignMarkdown(message.errorMessage)}`;
  const stopped = message.stopReason === "aborted" ? "*Aborted.*" : "";
  return [...blocks, failure, stopped].filter((block) => block !== "").join("\n\n");
}

function thinkingMarkdown(thinking: string): string {
  return thinking === "" ? "" : folded("Thinking", codeBlock(thinking));
}

/** The call in one line; its arguments in full only where the line does not hold them. */
function callMarkdown(call: ToolCall): string {
  const values = Object.entries(call.arguments ?? {}).map(([name, value]) => `${name}=${jsonText(value)}`);
  const head = `${call.name}(${values.join(", ")})`;
  if (head.length <= HEAD_CHARS) return `**Tool call** ${codeSpan(head)}`;
  const args = codeBlock(jsonText(call.arguments, 2), "json");
  return `**Tool call** ${codeSpan(`${head.slice(0, HEAD_CHARS)}…`)}\n\n${folded("Arguments", args)}`;
}

/** The stored result in full, even where the model sees a placeholder for it. */
function resultMarkdown(message: ToolResultMessage, fate: EntryFate): string {
  const text = contentText(message.content);
  const lines = text === "" ? "empty" : count(text.split("\n").length, "line");
  const state = message.isError ? "failed, " : "";
  const body = [text === "" ? "" : codeBlock(text), imageMarks(message.content)].filter(
    (part) => part !== "",
  );
  const masked = fate.edit === undefined ? "" : `; ${maskText(fate.edit)}`;
  return folded(
    `Result of ${message.toolName} (${state}${lines})${masked}`,
    body.join("\n\n") || "*Nothing.*",
  );
}

function maskText(edit: ContextEditEntry): string {
  if (edit.replacement === null) return "left out of the model's view";
  return `the model sees: ${contentText(edit.replacement.content).slice(0, HEAD_CHARS)}`;
}

function contentMarkdown(content: unknown): string {
  const text = foreignMarkdown(contentText(content));
  return [text, imageMarks(content)].filter((part) => part !== "").join("\n\n") || "*Nothing.*";
}

function imageMarks(content: unknown): string {
  const images = contentBlocks(content).filter((block) => block.type === "image");
  return images.map((image) => `*[image, ${image.mimeType}, ${imageSize(image.data)}]*`).join("\n\n");
}

function imageSize(data: unknown): string {
  const bytes = typeof data === "string" ? Math.floor((data.length * 3) / 4) : 0;
  return bytes < 1024 ? `${bytes} bytes` : `${grouped(bytes / 1024)} KB`;
}

function compactionMarkdown(entry: Entry & { type: "compaction" }, fate: EntryFate): string {
  const kept =
    entry.firstKeptEntryId === entry.id
      ? "nothing above this line was kept"
      : `kept from ${codeSpan(entry.firstKeptEntryId)} on`;
  const undone = fate.undone ? "; undone later" : "";
  const title = `Compacted from ${count(entry.tokensBefore, "token")}; ${kept}${undone}`;
  return summaryMarkdown(title, entry.summary);
}

function summaryMarkdown(title: string, summary: string): string {
  return `---\n\n**${title}**\n\n${quoted(foreignMarkdown(summary))}\n\n---`;
}

/** A number with its unit in the right number. */
export function count(amount: number, unit: string): string {
  return `${grouped(amount)} ${unit}${amount === 1 ? "" : "s"}`;
}
