import {
  callParts,
  contentBlocks,
  type LinePart,
  lineText,
  type Message,
  messageText,
  RECALL_TOOL,
  readableLines,
  type ToolCall,
  type ToolResultMessage,
  textHead,
  toolCalls,
  typedText,
} from "@bonsai-agent/messages";
import { framelessText, RECALLED } from "@bonsai-agent/messages/frames";
import type { Entry } from "../entry.ts";
import { ownEntryWords, pinChange } from "../own-entries.ts";

// How an entry reads in one line, on every screen. A screen only decides how much of the line fits.

/** Only the first characters of a text are read for its line. */
const READ_CHARS = 1_000;

/**
 * An entry in one line, in parts that follow each other as they are. Frames, tags and references that Bonsai put into a
 * text for the model are left out; a text that somebody typed is as it was typed, on one line. The parts may contain
 * control characters. Total: a damaged entry has a line too.
 * @param call of a tool's result. Default: only its tool is named
 */
export function entryParts(entry: Entry, call?: ToolCall): LinePart[] {
  if (entry.type !== "message") return [{ text: flat(entryText(entry)) }];
  if (typeof entry.message !== "object" || entry.message === null) return [{ text: "(no message)" }];
  return messageParts(entry.message, call);
}

/** A message in one line, see `entryParts`: its text, then its calls, then its images and how it ended. */
export function messageParts(message: Message, call?: ToolCall): LinePart[] {
  switch (message.role) {
    case "assistant":
      return answerParts(message);
    case "toolResult":
      return resultParts(message, call);
    case "user":
      return [{ text: flat(`${typedText(message)}${imagesText(message.content)}`) }];
    case "bashExecution":
      return [{ text: flat(`$ ${word(message.command)}`) }];
    case "branchSummary":
    case "compactionSummary":
      return [{ text: flat(summaryLine(message.summary)) }];
    case "custom":
      return [{ text: flat(pinText(message) ?? contentLine(message.content)) }];
    default:
      return [{ text: flat(contentLine(message.content)) }];
  }
}

function entryText(entry: Exclude<Entry, { type: "message" }>): string {
  switch (entry.type) {
    case "compaction":
    case "branch_summary":
      return summaryLine(entry.summary);
    case "custom_message":
      return pinText(entry) ?? customText(ownEntryWords(entry) ?? word(entry.customType), entry.content);
    case "model_change":
      return `${word(entry.provider)}/${word(entry.modelId)}`;
    case "thinking_level_change":
      return word(entry.thinkingLevel);
    case "session_info":
      return word(entry.name ?? "");
    case "label":
      return `${entry.label === undefined ? "removed from" : `${word(entry.label)} at`} ${word(entry.targetId)}`;
    case "context_edit":
      return `${entry.replacement === null ? "hides" : "masks"} ${word(entry.targetId)}`;
    case "custom":
      return ownEntryWords(entry) ?? word(entry.customType ?? "");
    case "usage":
      return `${usageWords(entry.kind)}: ${word(entry.provider)}/${word(entry.model)}`;
    default:
      // A type of another program, never one of ours.
      entry satisfies never;
      return "";
  }
}

function pinText(source: Parameters<typeof pinChange>[0]): string | undefined {
  const change = pinChange(source);
  return change && `${change.isPinned ? "" : "unpinned: "}${change.text}`;
}

function customText(words: string, content: unknown): string {
  const text = contentLine(content);
  return text.trim() === "" ? words : `${words}: ${text}`;
}

/** What was paid for beside answers and summaries. */
function usageWords(kind: unknown): string {
  return kind === "session_digest" ? "session description" : word(kind).replaceAll("_", " ");
}

function answerParts(message: Message): LinePart[] {
  const parts: LinePart[] = [];
  const text = flat(messageText(message));
  if (text !== "") parts.push({ text });
  for (const [at, { name, arguments: args }] of toolCalls(message).entries())
    parts.push({ text: at > 0 ? "; " : parts.length > 0 ? " → " : "" }, ...callParts(name, args));
  const stop = flat(stopText(message));
  if (stop !== "") parts.push({ text: `${parts.length > 0 ? " " : ""}${stop}` });
  return parts;
}

function stopText(message: Message): string {
  if (message.role !== "assistant") return "";
  if (message.stopReason === "error")
    return `[failed: ${typeof message.errorMessage === "string" ? message.errorMessage : "no reason given"}]`;
  if (message.stopReason === "aborted") return "[stopped]";
  return message.stopReason === "length" ? "[cut off]" : "";
}

/** A result names its call first: its own text can begin with anything. */
function resultParts({ toolName, isError, content }: ToolResultMessage, call?: ToolCall): LinePart[] {
  const failed = isError === true ? [{ text: "failed " }] : [];
  const asked = call === undefined ? [{ text: word(toolName) }] : callParts(call.name, call.arguments);
  const text = contentLine(content);
  const shown = toolName === RECALL_TOOL ? framelessText(text, RECALLED) : text;
  return [...failed, ...asked.map(shortPart), { text: `: ${flat(shown)}` }];
}

/** Only the beginning of a long command: the line of the call has the rest. */
function shortPart(part: LinePart): LinePart {
  return part.isPath === true ? part : { text: lineText([part], COMMAND_CHARS) };
}

const COMMAND_CHARS = 24;

/** Headings lead the lines below them: `Goal: Make the totals right. Done: …`. */
function summaryLine(summary: unknown): string {
  let text = "";
  for (const { text: line, isHeading } of readableLines(word(summary ?? ""))) {
    // A note to the model before the summary, as a digest has.
    if (text.trim() === "" && /^\[[^[\]]*\]$/.test(line)) continue;
    const bold = /^\*\*([^*]+?):?\*\*\s*$/.exec(line)?.[1];
    const heading = isHeading ? line : bold;
    text += `${heading === undefined ? line : `${heading.replace(/:\s*$/, "")}:`} `;
    if (text.length > READ_CHARS) break;
  }
  return text;
}

function contentLine(content: unknown): string {
  const texts = contentBlocks(content).map((block) => (block.type === "text" ? word(block.text ?? "") : ""));
  return `${texts.join(" ")}${imagesText(content)}`;
}

function imagesText(content: unknown): string {
  const images = contentBlocks(content).filter((block) => block.type === "image").length;
  return images === 0 ? "" : ` [${images === 1 ? "image" : `${images} images`}]`;
}

function flat(text: string): string {
  return textHead(text.trimStart(), READ_CHARS).replaceAll(/\s+/g, " ").trim();
}

/** Damaged files hold anything where a word should be. */
function word(value: unknown): string {
  return typeof value === "string" ? value : "?";
}
