import {
  callParts,
  callsIn,
  contentBlocks,
  type Message,
  messageText,
  type ProviderSummary,
  type ToolCall,
  type ToolResultMessage,
  textHead,
  typedText,
} from "@bonsai-agent/messages";
import { FRAMES, RECALL_TOOL, readableLines } from "@bonsai-agent/messages/host";
import { type LinePart, lineText } from "@bonsai-agent/messages/numbers";
import { pinChange } from "./own-entries.ts";

// Messages and texts as one line of a screen. The screen decides how much of the line fits.

/** Only the first characters of a text are read for its line. */
const READ_CHARS = 1_000;

/**
 * A message in one line, see `entryParts`: its text, then its calls, its images and how it ended.
 * @param call of a tool's result. Default: the line only names the tool
 */
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
      return [{ text: flat(summaryLine(message.summary)) }];
    case "compactionSummary":
      return [{ text: flat(`${sealedMark(message.provider)}${summaryLine(message.summary)}`) }];
    case "custom":
      return [{ text: flat(pinText(message) ?? contentLine(message.content)) }];
    default:
      return [{ text: flat(contentLine(message.content)) }];
  }
}

/** Begins the line of a summary beside one that only the provider can read. */
export function sealedMark(provider: ProviderSummary | undefined): string {
  return provider?.isSealed ? "[and a sealed summary] " : "";
}

/** The line of a pin or unpin; undefined for other entries and messages. */
export function pinText(source: Parameters<typeof pinChange>[0]): string | undefined {
  const change = pinChange(source);
  return change && `${change.isPinned ? "" : "unpinned: "}${change.text}`;
}

function answerParts(message: Message): LinePart[] {
  const parts: LinePart[] = [];
  const text = flat(messageText(message));
  if (text !== "") parts.push({ text });
  for (const [at, { name, arguments: args }] of callsIn(message).entries())
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
  const { begin, end } = FRAMES.recalled;
  const line = contentLine(content);
  const shown = toolName === RECALL_TOOL ? line.replace(begin, "").replace(end, "") : line;
  return [...failed, ...asked.map(shortPart), { text: `: ${flat(shown)}` }];
}

/** Only the beginning of a long command: the line of the call has the rest. */
function shortPart(part: LinePart): LinePart {
  return part.isPath === true ? part : { text: lineText([part], COMMAND_CHARS) };
}

const COMMAND_CHARS = 24;

/** Headings lead the lines below them: `Goal: Make the totals right. Done: …`. */
export function summaryLine(summary: unknown): string {
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

/** A content value as a line: its texts, then a note of its images. */
export function contentLine(content: unknown): string {
  const texts = contentBlocks(content).map((block) => (block.type === "text" ? word(block.text ?? "") : ""));
  return `${texts.join(" ")}${imagesText(content)}`;
}

function imagesText(content: unknown): string {
  const images = contentBlocks(content).filter((block) => block.type === "image").length;
  return images === 0 ? "" : ` [${images === 1 ? "image" : `${images} images`}]`;
}

/** The beginning of a text, on one line. */
export function flat(text: string): string {
  return textHead(text.trimStart(), READ_CHARS).replaceAll(/\s+/g, " ").trim();
}

/** A text field as it is; `?` if damaged. */
export function word(value: unknown): string {
  return typeof value === "string" ? value : "?";
}
