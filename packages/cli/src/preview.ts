import { contentBlocks, type Message, messageText, toolCalls } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { oneLine } from "./views/printable.ts";

/** What kind of thing an entry is, in one short word for a column. */
export function kindOf(entry: Entry): string {
  return kindWord(entry.type === "message" ? entry.message?.role : entry.type);
}

const kindWords: Readonly<Record<string, string>> = {
  toolResult: "result",
  bashExecution: "command",
  custom: "extension",
  branchSummary: "branch",
  compactionSummary: "summary",
  damagedMessage: "damaged",
  branch_summary: "branch",
  custom_message: "extension",
  thinking_level_change: "thinking",
  model_change: "model",
  session_info: "info",
  context_edit: "edit",
};

/** A message's role or an entry's type as a short word for a column. */
export function kindWord(kind: unknown): string {
  return typeof kind === "string" ? (kindWords[kind] ?? kind) : "damaged";
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
      return oneLine(`${entry.customType}: ${previewText(entry.content)}`);
    case "model_change":
      return oneLine(`${entry.provider}/${entry.modelId}`);
    case "thinking_level_change":
      return oneLine(String(entry.thinkingLevel));
    case "session_info":
      return oneLine(String(entry.name ?? ""));
    case "label":
      return oneLine(
        entry.label === undefined ? `cleared at ${entry.targetId}` : `${entry.label} at ${entry.targetId}`,
      );
    case "context_edit":
      return oneLine(entry.replacement === null ? `omits ${entry.targetId}` : `replaces ${entry.targetId}`);
    case "custom":
      return oneLine(String(entry.customType ?? ""));
    case "usage":
      return oneLine(`${entry.provider}/${entry.model}`);
    default:
      return "";
  }
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
        `${message.toolName}${message.isError ? " failed" : ""}: ${previewText(message.content)}`,
      );
    case "bashExecution":
      return oneLine(`$ ${message.command}`);
    case "branchSummary":
    case "compactionSummary":
      return summaryPreview(message.summary);
    default:
      return oneLine(previewText(message.content));
  }
}

/** A summary begins with a sentence in brackets that tells the model what it is: no news for a human. */
function summaryPreview(summary: unknown): string {
  return oneLine(String(summary ?? "").replace(/^\[[^\]]*\]\s*/, ""));
}

function previewText(content: unknown): string {
  const blocks = contentBlocks(content);
  const images = blocks.filter((block) => block.type === "image").length;
  const text = blocks.map((block) => (block.type === "text" ? String(block.text ?? "") : "")).join(" ");
  return `${text}${images > 0 ? ` [${images === 1 ? "image" : `${images} images`}]` : ""}`;
}

function callsPreview(message: Message): string {
  return toolCalls(message)
    .map((call) => `${call.name}(${argumentPreview(call.arguments)})`)
    .join(" ");
}

/** The argument that tells most: a path or command when there is one. */
function argumentPreview(args: unknown): string {
  if (typeof args !== "object" || args === null) return "";
  const named = args as Record<string, unknown>;
  const value = named.path ?? named.file_path ?? named.command ?? Object.values(named)[0];
  return typeof value === "string"
    ? value.slice(0, 120)
    : value === undefined
      ? ""
      : JSON.stringify(value).slice(0, 120);
}

function stopPreview(message: Message): string {
  if (message.role !== "assistant") return "";
  if (message.stopReason === "error") return `[failed: ${message.errorMessage ?? "no reason given"}]`;
  return message.stopReason === "aborted" || message.stopReason === "length" ? `[${message.stopReason}]` : "";
}
