import { lossLines } from "@bonsai-agent/compaction";
import { branchWords, type SummaryLoss, sizeBeforeText } from "@bonsai-agent/compaction/host";
import {
  type AssistantMessage,
  contentBlocks,
  contentText,
  jsonText,
  readableSummary,
  type ToolCall,
  type ToolResultMessage,
  textHead,
  type UserMessage,
} from "@bonsai-agent/messages";
import { paragraphs, quotedFiles, typedCommand } from "@bonsai-agent/messages/host";
import { bytes, counted } from "@bonsai-agent/messages/numbers";
import {
  type ContextEditEntry,
  type Entry,
  type EntryOf,
  ownEntryWords,
  pinChange,
} from "@bonsai-agent/session";
import type { TextForMarkdown } from "../markdown/text-for-markdown.ts";
import { quoted } from "./text.ts";

/** Facts about an entry from later entries of its path. */
export interface EntryFate {
  /** The latest edit of its view. */
  edit?: ContextEditEntry | undefined;
  /** True for a compaction that was undone. */
  undone?: boolean;
  label?: string | undefined;
  /** For a compaction: its carried-over and lost facts. */
  loss?: SummaryLoss | undefined;
}

const HEAD_CHARS = 120;

/** The Markdown of an entry; empty for entries that are not shown, and for types of other programs. */
export function entryMarkdown(entry: Entry, fate: EntryFate, outside: TextForMarkdown): string {
  if (!Object.hasOwn(TYPE_BODIES, entry.type)) return "";
  const body = (TYPE_BODIES[entry.type] as BodyOf<Entry>)(entry, fate, outside);
  if (body === "" || fate.label === undefined) return body;
  return `*Label: ${outside.plain(fate.label)}*\n\n${body}`;
}

type BodyOf<Stored extends Entry> = (entry: Stored, fate: EntryFate, outside: TextForMarkdown) => string;

const notShown = () => "";

/** The Markdown of each type of entry. A type without it does not compile. */
const TYPE_BODIES: { readonly [Type in Entry["type"]]: BodyOf<EntryOf<Type>> } = {
  message: messageMarkdown,
  compaction: compactionMarkdown,
  branch_summary: (entry, _fate, outside) =>
    summaryMarkdown(
      `Summary of ${branchWords({ ...entry, fromId: entry.fromId && outside.name(entry.fromId) })}`,
      outside.markdown(readableSummary(entry.summary), "own"),
    ),
  custom_message: (entry, fate, outside) =>
    outside.folded(`${noteTitle(entry)}${editMark(fate)}`, contentMarkdown(entry.content, outside)),
  model_change: ({ provider, modelId }, _fate, outside) =>
    `*Model: ${outside.name(`${provider}/${modelId}`)}*`,
  context_edit: notShown,
  custom: notShown,
  label: notShown,
  thinking_level_change: notShown,
  session_info: notShown,
  usage: notShown,
};

function messageMarkdown(entry: EntryOf<"message">, fate: EntryFate, outside: TextForMarkdown): string {
  const section = (title: string, body: string) => {
    const place = `${outside.plain(entry.timestamp)} · ${outside.plain(entry.id)}`;
    return `## ${title}${editMark(fate)}\n\n<sub>${place}</sub>\n\n${body}`;
  };
  const { message } = entry;
  switch (message?.role) {
    case "user":
      return section("User", promptMarkdown(message, outside));
    case "assistant":
      return section("Assistant", answerMarkdown(message, outside));
    case "toolResult":
      return resultMarkdown(message, fate, outside);
    case "bashExecution":
      return section("Command", outside.block(`$ ${message.command}\n${message.output}`, "console"));
    case "custom":
      return outside.folded(`Note from ${message.customType}`, contentMarkdown(message.content, outside));
    case "system":
      return "";
    default:
      message satisfies undefined;
      return "";
  }
}

function noteTitle(entry: Extract<Entry, { type: "custom_message" }>): string {
  const pin = pinChange(entry);
  if (pin !== undefined) return pin.isPinned ? "Pinned text" : "Unpinned text";
  const words = ownEntryWords(entry);
  return words === undefined ? `Note from ${entry.customType}` : `Note: ${words}`;
}

function editMark({ edit }: EntryFate): string {
  if (edit === undefined) return "";
  return edit.replacement === null ? " (hidden from the model)" : " (replaced for the model)";
}

function answerMarkdown(message: AssistantMessage, outside: TextForMarkdown): string {
  const blocks = contentBlocks(message.content).map((block) => {
    if (block.type === "text") return outside.markdown(block.text);
    if (block.type === "thinking")
      return block.thinking ? outside.folded("Thinking", outside.block(block.thinking)) : "";
    return block.type === "toolCall" ? callMarkdown(block as unknown as ToolCall, outside) : "";
  });
  const stopped = message.stopReason === "aborted" ? "*Aborted.*" : "";
  return paragraphs([...blocks, failureMarkdown(message.errorMessage, outside), stopped]);
}

/** A provider's error as text: it can be a page of HTML. */
function failureMarkdown(error: string | undefined, outside: TextForMarkdown): string {
  if (error === undefined) return "";
  const isLong = /\S\s*[\r\n]\s*\S/.test(String(error).slice(0, 10_000));
  return isLong ? `**Failed:**\n\n${outside.block(error)}` : `**Failed:** ${outside.plain(error)}`;
}

/** The call in one line. Long arguments follow folded. */
function callMarkdown(call: ToolCall, outside: TextForMarkdown): string {
  const values = Object.entries(call.arguments ?? {}).map(([name, value]) => `${name}=${jsonText(value)}`);
  const head = `${call.name}(${values.join(", ")})`;
  if (head.length <= HEAD_CHARS) return `**Tool call** ${outside.code(head)}`;
  const args = outside.block(jsonText(call.arguments, 2), "json");
  return `**Tool call** ${outside.code(head, HEAD_CHARS)}\n\n${outside.folded("Arguments", args)}`;
}

/** The stored result in full, even if the model sees a placeholder. */
function resultMarkdown(message: ToolResultMessage, fate: EntryFate, outside: TextForMarkdown): string {
  const text = contentText(message.content);
  const lines = text === "" ? "empty" : counted(text.split("\n").length, "line");
  const state = message.isError ? "failed, " : "";
  const body = paragraphs([text === "" ? "" : outside.block(text), imageMarks(message.content, outside)]);
  const masked = fate.edit === undefined ? "" : `; ${maskText(fate.edit)}`;
  const title = `Result of ${message.toolName} (${state}${lines})${masked}`;
  return outside.folded(title, body || "*Nothing.*");
}

function maskText(edit: ContextEditEntry): string {
  if (edit.replacement === null) return "hidden from the model";
  return `the model sees: ${textHead(contentText(edit.replacement.content), HEAD_CHARS)}`;
}

function contentMarkdown(content: unknown, outside: TextForMarkdown): string {
  return paragraphs([outside.markdown(contentText(content)), imageMarks(content, outside)]) || "*Nothing.*";
}

/** The typed text, with sent files and the text of a template folded. */
function promptMarkdown(message: UserMessage, outside: TextForMarkdown): string {
  const { content } = message;
  const { text, files } = sentParts(message);
  const folded = files.map((file) => {
    const title = `${file.path} (${counted(file.content.split("\n").length, "line")})`;
    return outside.folded(title, outside.block(file.content));
  });
  return paragraphs([outside.markdown(text), ...folded, imageMarks(content, outside)]) || "*Nothing.*";
}

function sentParts(message: UserMessage): ReturnType<typeof quotedFiles> {
  const sent = quotedFiles(contentText(message.content));
  const typed = typedCommand(message);
  if (typed === undefined) return sent;
  const [name = ""] = typed.trim().split(/\s/, 1);
  return { text: typed, files: [{ path: name, content: sent.text }, ...sent.files] };
}

function imageMarks(content: unknown, outside: TextForMarkdown): string {
  const images = contentBlocks(content).filter((block) => block.type === "image");
  return images
    .map(({ mimeType, data }) => {
      const sizeBytes = typeof data === "string" ? Math.floor((data.length * 3) / 4) : 0;
      return `*[image, ${outside.plain(mimeType)}, ${bytes(sizeBytes)}]*`;
    })
    .join("\n\n");
}

function compactionMarkdown(
  entry: Entry & { type: "compaction" },
  fate: EntryFate,
  outside: TextForMarkdown,
): string {
  const kept =
    entry.firstKeptEntryId === entry.id
      ? "kept nothing above this line"
      : `kept everything from ${outside.name(entry.firstKeptEntryId)} on`;
  const undone = fate.undone ? "; undone later" : "";
  const size = sizeBeforeText(entry);
  const title = `Compacted${size === undefined ? "" : ` from ${size}`}; ${kept}${undone}`;
  const known = lossLines(fate.loss ?? {}).map(({ text }) => `*${outside.plain(text)}*`);
  return summaryMarkdown(title, outside.markdown(readableSummary(entry.summary), "own"), known);
}

function summaryMarkdown(title: string, summary: string, notes: readonly string[] = []): string {
  return ["---", `**${title}**`, ...notes, quoted(summary), "---"].join("\n\n");
}
