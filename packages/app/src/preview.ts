import {
  type CallPart,
  callParts,
  contentBlocks,
  type Message,
  messageText,
  type ToolCall,
  type ToolResultMessage,
  toolCalls,
  typedText,
} from "@bonsai-agent/messages";
import {
  type Entry,
  ownEntryWords,
  pinChange,
  type Session,
  type SessionTree,
  kindWord as wordOf,
} from "@bonsai-agent/session";
import { type Span, type Style, span } from "./line.ts";
import { oneLine, printable, textWidth, truncate } from "./terminal-text.ts";

/** What kind of thing an entry is, in one short word for a column. */
export function kindOf(entry: Entry): string {
  if (pinChange(entry) !== undefined) return "pin";
  if (entry.type === "custom" && ownEntryWords(entry) !== undefined) return "note";
  return kindWord(entry.type === "message" ? entry.message?.role : entry.type);
}

const maxKindLength = 24;

/** A message's role or an entry's type as a short word for a column. */
export function kindWord(kind: unknown): string {
  if (typeof kind !== "string" || kind === "damagedMessage") return "damaged";
  return oneLine(wordOf(kind), maxKindLength);
}

/** A line in its parts: those that are paths give way from their beginning where space is short. */
export type Preview = readonly CallPart[];

/** An entry in one line of at most 240 characters. @param call of a tool's result. Default: its tool's name */
export function previewOf(entry: Entry, call?: ToolCall): string {
  return previewText(entryPreview(entry, call));
}

/** A call of a tool in one line, for who watches it run. */
export function callPreview(name: string, args: unknown): string {
  return previewText(callParts(name, args), 160);
}

/** @param length in characters; default 240 */
export function previewText(preview: Preview, length?: number): string {
  return oneLine(preview.map(({ text }) => text).join(""), length);
}

/**
 * The line, cut to at most so many columns. As long as a path does not end within them, paths lose folders from their
 * beginning; what is too long even so is cut at its end.
 */
export function fitPreview(preview: Preview, columns: number): string {
  const parts = preview.map(({ text, isPath }) => ({
    text: printable(text.replaceAll(/\s+/g, " ")),
    isPath,
  }));
  const lastPath = parts.findLastIndex(({ isPath }) => isPath === true);
  let over = parts.slice(0, lastPath + 1).reduce((sum, { text }) => sum + textWidth(text), -columns);
  for (let at = lastPath; at >= 0 && over > 0; at -= 1) {
    const part = parts[at]!;
    if (part.isPath !== true) continue;
    const width = textWidth(part.text);
    part.text = withoutFolders(part.text, width - over);
    over -= width - textWidth(part.text);
  }
  return truncate(
    parts
      .map(({ text }) => text)
      .join("")
      .trim(),
    columns,
  );
}

/** The same as a piece of a line, which is cut as that line is. */
export function previewSpan(preview: Preview, style?: Style): Span {
  return { ...span(previewText(preview), style), fit: (columns) => fitPreview(preview, columns) };
}

const LEAST_OF_NAME = 8;

/** `…/chat/tool-block.ts`: as many of the last folders as fit; of a long name its end. */
function withoutFolders(path: string, columns: number): string {
  const names = path.split(/(?<=[/\\])/);
  let shown = path;
  for (let from = 1; from < names.length && textWidth(shown) > columns; from += 1)
    shown = `…${path[names.slice(0, from).join("").length - 1]}${names.slice(from).join("")}`;
  if (textWidth(shown) > columns && columns >= LEAST_OF_NAME) return endOf(shown, columns);
  return textWidth(shown) < textWidth(path) ? shown : path;
}

function endOf(text: string, columns: number): string {
  const characters = [...text];
  while (textWidth(characters.join("")) >= columns) characters.shift();
  return `…${characters.join("")}`;
}

/** An entry in its parts. @param call of a tool's result. Default: its tool's name */
export function entryPreview(entry: Entry, call?: ToolCall): Preview {
  if (entry.type !== "message") return [{ text: oneLine(entryText(entry)) }];
  if (typeof entry.message !== "object" || entry.message === null) return [{ text: "(no message)" }];
  return messagePreview(entry.message, call);
}

function entryText(entry: Exclude<Entry, { type: "message" }>): string {
  switch (entry.type) {
    case "compaction":
    case "branch_summary":
      return summaryPreview(entry.summary);
    case "custom_message":
      return (
        pinPreview(entry) ??
        `${ownEntryWords(entry) ?? word(entry.customType)}: ${contentPreview(entry.content)}`
      );
    case "model_change":
      return `${word(entry.provider)}/${word(entry.modelId)}`;
    case "thinking_level_change":
      return word(entry.thinkingLevel);
    case "session_info":
      return word(entry.name ?? "");
    case "label":
      return `${entry.label === undefined ? "removed from" : `${word(entry.label)} at`} ${word(entry.targetId)}`;
    case "context_edit":
      return `${entry.replacement === null ? "hides" : "replaces"} ${word(entry.targetId)}`;
    case "custom":
      return ownEntryWords(entry) ?? word(entry.customType ?? "");
    case "usage":
      return `${word(entry.provider)}/${word(entry.model)}`;
    default:
      // A type of another program, never one of ours.
      entry satisfies never;
      return "";
  }
}

function pinPreview(entry: Entry): string | undefined {
  const change = pinChange(entry);
  return change && `${change.isPinned ? "" : "unpinned: "}${change.text}`;
}

/** A message in its parts: its text, then its calls, then what else it holds. @param call of a result */
export function messagePreview(message: Message, call?: ToolCall): Preview {
  switch (message.role) {
    case "assistant":
      return answerParts(message);
    case "toolResult":
      return resultParts(message, call);
    case "user":
      return [{ text: oneLine(`${typedText(message)}${imagesPreview(message.content)}`) }];
    case "bashExecution":
      return [{ text: oneLine(`$ ${word(message.command)}`) }];
    case "branchSummary":
    case "compactionSummary":
      return [{ text: summaryPreview(message.summary) }];
    default:
      return [{ text: oneLine(contentPreview(message.content)) }];
  }
}

function answerParts(message: Message): Preview {
  const parts: CallPart[] = [];
  const text = oneLine(messageText(message));
  if (text !== "") parts.push({ text });
  for (const [at, { name, arguments: args }] of toolCalls(message).entries())
    parts.push({ text: at > 0 ? "; " : parts.length > 0 ? " → " : "" }, ...callParts(name, args));
  const stop = oneLine(stopPreview(message));
  if (stop !== "") parts.push({ text: `${parts.length > 0 ? " " : ""}${stop}` });
  return parts;
}

/** A result says first what was asked for: its own text begins anywhere. */
function resultParts({ toolName, isError, content }: ToolResultMessage, call?: ToolCall): Preview {
  const failed = isError === true ? [{ text: "failed " }] : [];
  const asked = call === undefined ? [{ text: word(toolName) }] : callParts(call.name, call.arguments);
  return [...failed, ...asked.map(shortPart), { text: `: ${oneLine(contentPreview(content))}` }];
}

/** Of a long command, its result shows the beginning: the row of the call has the rest. */
function shortPart(part: CallPart): CallPart {
  return part.isPath === true ? part : { text: truncate(printable(part.text), MOST_OF_COMMAND) };
}

const MOST_OF_COMMAND = 24;

/** Of a summary, no more is looked at. */
const PREVIEWED_CHARS = 4_000;

/** The line between the two parts of a summary of a split turn, and the placeholder for an empty first part. */
const SPLIT_TURN =
  /(?:No (?:earlier|prior) history\.\s*)?---\s*\*(?:\*|&#42;)Turn Context \(split turn\):\*(?:\*|&#42;)\s*/g;

/** Leaves out the marks of a stored summary: its first sentences in brackets, the line of a split turn, headings. */
function summaryPreview(summary: unknown): string {
  const body = word(summary ?? "")
    .slice(0, PREVIEWED_CHARS)
    .replace(/^(?:\[[^\]]*\]\s*)+/, "")
    .replace(SPLIT_TURN, "");
  return oneLine(body.replace(/^#{1,6} +(.*?):?\s*$/gm, "$1:").replace(/^\*\*(.+?):?\*\*\s*$/gm, "$1:"));
}

function contentPreview(content: unknown): string {
  const texts = contentBlocks(content).map((block) => (block.type === "text" ? word(block.text ?? "") : ""));
  return `${texts.join(" ")}${imagesPreview(content)}`;
}

function imagesPreview(content: unknown): string {
  const images = contentBlocks(content).filter((block) => block.type === "image").length;
  return images === 0 ? "" : ` [${images === 1 ? "image" : `${images} images`}]`;
}

/** So far behind its call a result may stand. */
const MOST_STEPS = 64;

/** The call that an entry of a session holds the result of. */
export function callIn(session: Pick<Session, "entry">, entry: Entry): ToolCall | undefined {
  let above: Entry | undefined = entry;
  return callAbove(entry, () => {
    above = above?.parentId == null ? undefined : session.entry(above.parentId);
    return above;
  });
}

/** The same for an entry of a tree. */
export function callInTree(tree: SessionTree, at: number, entry: Entry): ToolCall | undefined {
  let above = at;
  return callAbove(entry, () => {
    do above = tree.parent(above);
    while (above >= 0 && tree.entries[above]!.kind === "result");
    return above < 0 ? undefined : tree.entry(above);
  });
}

/** @param next the entries above, one after the other. The answer with the call is the first that stands there. */
function callAbove(entry: Entry, next: () => Entry | undefined): ToolCall | undefined {
  if (entry.type !== "message" || entry.message?.role !== "toolResult") return undefined;
  const { toolCallId } = entry.message;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const above = next();
    if (above === undefined) return undefined;
    if (above.type !== "message" || above.message?.role !== "assistant") continue;
    return toolCalls(above.message).find(({ id }) => id === toolCallId);
  }
  return undefined;
}

/** For each message of a context the call that it is the result of. */
export function callsOf(messages: Iterable<Message>): (ToolCall | undefined)[] {
  const calls = new Map<string, ToolCall>();
  return [...messages].map((message) => {
    for (const call of toolCalls(message)) calls.set(call.id, call);
    return message?.role === "toolResult" ? calls.get(message.toolCallId) : undefined;
  });
}

/** The error of a tool: its first line, or where a note like `[Exit code 1.]` ends it, what came right before. */
export function failurePreview(content: unknown): string {
  const lines = contentPreview(content)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const shown = lines.at(-1)?.startsWith("[") ? lines.slice(-2) : lines.slice(0, 1);
  return oneLine(shown.join(" "), 160);
}

function stopPreview(message: Message): string {
  if (message.role !== "assistant") return "";
  if (message.stopReason === "error")
    return `[failed: ${typeof message.errorMessage === "string" ? message.errorMessage : "no reason given"}]`;
  if (message.stopReason === "aborted") return "[stopped]";
  return message.stopReason === "length" ? "[cut off]" : "";
}

/** Damaged files hold anything where a word should be. */
function word(value: unknown): string {
  return typeof value === "string" ? value : "?";
}
