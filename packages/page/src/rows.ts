import { startsTurn } from "@bonsai-agent/compaction";
import {
  byScriptEstimator,
  callText,
  isRecord,
  type Message,
  toolCalls,
  typedText,
} from "@bonsai-agent/messages";
import {
  type Entry,
  entryTexts,
  LEAF_CUSTOM_TYPE,
  ownEntryWords,
  pinChange,
  REDO_CUSTOM_TYPE,
  UNDO_CUSTOM_TYPE,
} from "@bonsai-agent/session";
import { projectEntry } from "@bonsai-agent/session/host";
import { type PageRows, type RowKind, rowFlags, rowKinds } from "./page-data.ts";
import { readableSummary } from "./summary-text.ts";

const PREVIEW_CHARS = 120;
/** So much of a text is looked at for its preview. */
const LOOKED_AT_CHARS = 1_000;

export function emptyRows(): PageRows {
  return { ids: [], parents: [], kinds: [], times: [], previews: [], tokens: [], flags: [] };
}

/** Adds an entry as the next row. @param shown the entry without what is taken out: it is cut here */
export function addRow(rows: PageRows, entry: Entry, parent: number, shown: Entry): void {
  const message = contextMessage(entry);
  rows.ids.push(entry.id);
  rows.parents.push(parent);
  rows.kinds.push(rowKinds.indexOf(rowKind(entry)));
  rows.times.push(Date.parse(entry.timestamp) || 0);
  rows.previews.push(oneLine(preview(shown)));
  rows.tokens.push(message === undefined ? 0 : byScriptEstimator.message(message));
  rows.flags.push(flagsOf(entry, message));
}

/** As short as a line of a list. */
export function oneLine(text: string): string {
  return text.slice(0, LOOKED_AT_CHARS).replaceAll(/\s+/g, " ").trim().slice(0, PREVIEW_CHARS);
}

/** What the entry puts into a context that it is in. */
function contextMessage(entry: Entry): Message | undefined {
  return projectEntry(entry)?.message;
}

const customKinds: Readonly<Record<string, RowKind>> = {
  [LEAF_CUSTOM_TYPE]: "leaf",
  [UNDO_CUSTOM_TYPE]: "undo",
  [REDO_CUSTOM_TYPE]: "redo",
};

const typeKinds: Readonly<Record<string, RowKind>> = {
  compaction: "compaction",
  branch_summary: "branch summary",
  context_edit: "mask",
  label: "label",
  session_info: "name",
  model_change: "model",
  thinking_level_change: "thinking",
  usage: "usage",
};

const roleKinds: Readonly<Record<string, RowKind>> = {
  user: "user",
  assistant: "assistant",
  toolResult: "result",
  bashExecution: "command",
};

export function rowKind(entry: Entry): RowKind {
  if (pinChange(entry) !== undefined) return "pin";
  if (entry.type === "message") {
    const role: unknown = entry.message?.role;
    if (typeof role !== "string" || role === "damagedMessage") return "damaged";
    return (Object.hasOwn(roleKinds, role) ? roleKinds[role] : undefined) ?? "note";
  }
  if (entry.type === "custom_message") return "note";
  if (entry.type === "custom")
    return (
      (Object.hasOwn(customKinds, entry.customType) ? customKinds[entry.customType] : undefined) ?? "custom"
    );
  return (Object.hasOwn(typeKinds, entry.type) ? typeKinds[entry.type] : undefined) ?? "custom";
}

function flagsOf(entry: Entry, message: Message | undefined): number {
  let flags = message === undefined ? 0 : rowFlags.speaks;
  const isSummary = entry.type === "compaction" || entry.type === "branch_summary";
  const isSaid = !isSummary && pinChange(entry) === undefined;
  if (message !== undefined && isSaid && startsTurn(message)) flags |= rowFlags.turn;
  if (entry.type === "context_edit" && entry.replacement === null) flags |= rowFlags.omits;
  if (entry.type !== "message" || !isRecord(entry.message)) return flags;
  const stored = entry.message;
  if (stored.role === "toolResult" && stored.isError) flags |= rowFlags.failed;
  if (stored.role === "assistant" && stored.stopReason === "error") flags |= rowFlags.failed;
  if (stored.role === "bashExecution" && (stored.exitCode ?? 0) !== 0) flags |= rowFlags.failed;
  const content = "content" in stored ? (stored.content as unknown) : undefined;
  if (Array.isArray(content) && content.some((block) => isRecord(block) && block.type === "image"))
    flags |= rowFlags.image;
  return flags;
}

function preview(entry: Entry): string {
  if (entry.type === "message" && isRecord(entry.message)) return messagePreview(entry.message as Message);
  const pin = pinChange(entry);
  if (pin !== undefined) return `${pin.isPinned ? "pinned" : "unpinned"}: ${pin.text}`;
  switch (entry.type) {
    case "model_change":
      return `${entry.provider}/${entry.modelId}`;
    case "thinking_level_change":
      return String(entry.thinkingLevel);
    case "session_info":
      return String(entry.name ?? "");
    case "label":
      return entry.label === undefined ? "label removed" : String(entry.label);
    case "context_edit":
      return `${entry.replacement === null ? "hides" : "masks"} entry ${entry.targetId}`;
    case "custom":
      return recordWord(entry);
    case "compaction":
    case "branch_summary":
      return typeof entry.summary === "string"
        ? withoutMarkup(readableSummary(entry.summary.slice(0, 4 * LOOKED_AT_CHARS)))
        : "";
    case "usage":
      return `${entry.kind}: ${entry.provider}/${entry.model}`;
    default:
      return firstText(entry);
  }
}

/** A record in a few words; one of an extension has its own type. */
export function recordWord(entry: Entry & { type: "custom" }): string {
  return ownEntryWords(entry) ?? String(entry.customType);
}

function messagePreview(message: Message): string {
  if (message.role === "user") return String(typedText(message)).slice(0, LOOKED_AT_CHARS);
  if (message.role === "bashExecution") return `$ ${message.command}`.slice(0, LOOKED_AT_CHARS);
  if (message.role !== "assistant") return firstText({ type: "message", message } as Entry);
  const texts = (Array.isArray(message.content) ? message.content : []).flatMap((block) =>
    isRecord(block) && block.type === "text" && typeof block.text === "string"
      ? [block.text.slice(0, LOOKED_AT_CHARS)]
      : [],
  );
  const calls = toolCalls(message).map((call) => callText(call.name, call.arguments, PREVIEW_CHARS));
  const failed =
    message.stopReason === "error" ? [`failed: ${message.errorMessage ?? "unknown reason"}`] : [];
  return [...texts, ...calls, ...failed].join(" · ");
}

function firstText(entry: Entry): string {
  const texts: string[] = [];
  let chars = 0;
  for (const text of entryTexts(entry)) {
    texts.push(text.slice(0, LOOKED_AT_CHARS));
    chars += text.length;
    if (chars > LOOKED_AT_CHARS) break;
  }
  return withoutMarkup(texts.join(" "));
}

/** The text without sentences in brackets at its start, which address a model, and without Markdown's marks. */
function withoutMarkup(text: string): string {
  return text
    .replace(/^(?:\[[^\]]*\]\s*)+/, "")
    .replace(/^#{1,6}\s+|(?<=^|\s)-{3,}(?=\s|$)|\*\*|&#42;/gm, "");
}
