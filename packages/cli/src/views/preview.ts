import { callParts, callsIn, contentText, type Message, type ToolCall } from "@bonsai-agent/messages";
import { fitPath, type LinePart } from "@bonsai-agent/messages/numbers";
import {
  type Entry,
  entryKind,
  entryParts,
  type Session,
  type SessionTree,
  kindWord as wordOf,
} from "@bonsai-agent/session";
import { type Span, type Style, span } from "./line.ts";
import { oneLine, printable, textWidth, truncate } from "./terminal-text.ts";

/** The kind of an entry, in one short word for a column. */
export function kindOf(entry: Entry): string {
  return shortKind(entryKind(entry));
}

const maxKindLength = 24;

/** A message's role or an entry's type as a short word for a column. */
export function kindWord(kind: unknown): string {
  return shortKind(typeof kind === "string" ? wordOf(kind) : "damaged");
}

/** Other programs choose kinds of any length. */
function shortKind(word: string): string {
  return oneLine(word, maxKindLength);
}

/** A line in parts. Paths lose their first folders if space is short. */
export type Preview = readonly LinePart[];

/** An entry in one line of at most 240 characters. @param call of a tool's result. Default: its tool's name */
export function previewOf(entry: Entry, call?: ToolCall): string {
  return previewText(entryParts(entry, call));
}

export function callPreview(name: string, args: unknown): string {
  return previewText(callParts(name, args), 160);
}

/** @param length in characters; default 240 */
export function previewText(preview: Preview, length?: number): string {
  return oneLine(preview.map(({ text }) => text).join(""), length);
}

/** The line in at most `columns` columns. Paths lose their first folders, then the line loses its end. */
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
    part.text = fitPath(part.text, width - over, textWidth);
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

/** A preview as a span that fits itself into its line. */
export function previewSpan(preview: Preview, style?: Style): Span {
  return { ...span(previewText(preview), style), fit: (columns) => fitPreview(preview, columns) };
}

/** Maximum distance of a result from its call, in entries. */
const MAX_STEPS = 64;

/** The call of a tool result. */
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

/** @param next returns the next entry above. The call is in the first answer above. */
function callAbove(entry: Entry, next: () => Entry | undefined): ToolCall | undefined {
  if (entry.type !== "message" || entry.message?.role !== "toolResult") return undefined;
  const { toolCallId } = entry.message;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const above = next();
    if (above === undefined) return undefined;
    if (above.type !== "message" || above.message?.role !== "assistant") continue;
    return callsIn(above.message).find(({ id }) => id === toolCallId);
  }
  return undefined;
}

/** The call of each message that is a tool result. */
export function callsOf(messages: Iterable<Message>): (ToolCall | undefined)[] {
  const calls = new Map<string, ToolCall>();
  return [...messages].map((message) => {
    for (const call of callsIn(message)) calls.set(call.id, call);
    return message?.role === "toolResult" ? calls.get(message.toolCallId) : undefined;
  });
}

/** The error of a tool: its first line, or the line before a note like `[Exit code 1.]`. */
export function failurePreview(content: unknown): string {
  const lines = contentText(content)
    .split("\n")
    .filter((line) => line.trim() !== "");
  const shown = lines.at(-1)?.startsWith("[") ? lines.slice(-2) : lines.slice(0, 1);
  return oneLine(shown.join(" "), 160);
}
