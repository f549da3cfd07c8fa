import { isRecord, type Message, messageText } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { listAt, stringAt } from "./import/json-lines.ts";

/** A message, and its entry. */
export interface SpanMessage {
  message: Message;
  entryId: string;
}

/** The messages from one compaction to the next. */
export interface CompactionSpan {
  /** Oldest first. They begin with the summary before them, if it can be read. */
  messages: SpanMessage[];
  /** The compaction at the end of the span. Undefined for the messages after the last compaction. */
  compaction: RecordedCompaction | undefined;
}

export interface RecordedCompaction {
  entryId: string;
  /** ISO 8601. */
  timestamp: string;
  /** If only the provider can read the summary, the messages that the agent kept beside it. */
  summary: string;
  /** Other texts in the new context up to the next answer: kept and restated messages, files, notes. */
  restored: string;
}

/**
 * The spans of a path, oldest first. The last one is open.
 * @param path the entries from the root to the leaf
 */
export function compactionSpans(path: readonly Entry[]): CompactionSpan[] {
  const spans: CompactionSpan[] = [{ messages: [], compaction: undefined }];
  path.forEach((entry, at) => {
    const summary = summaryOf(entry);
    if (summary !== undefined) {
      const { id: entryId, timestamp } = entry;
      spans.at(-1)!.compaction = { entryId, timestamp, summary, restored: restoredText(path, at) };
      spans.push({ messages: [], compaction: undefined });
    }
    const message = messageOf(entry);
    if (message !== undefined) spans.at(-1)!.messages.push({ message, entryId: entry.id });
  });
  return spans;
}

function summaryOf(entry: Entry): string | undefined {
  if (entry.type === "compaction") return entry.summary;
  if (entry.type !== "custom" || entry.customType !== "bonsai.unreadable") return undefined;
  const item = isRecord(entry.data) && isRecord(entry.data.item) ? entry.data.item : {};
  if (item.type !== "compacted") return undefined;
  const parts = listAt(item, "replacement_history").flatMap((message) => listAt(message, "content"));
  return parts.flatMap((part) => stringAt(part, "text") ?? []).join("\n");
}

function messageOf(entry: Entry): Message | undefined {
  const timestamp = Date.parse(entry.timestamp);
  switch (entry.type) {
    case "message":
      return entry.message;
    case "custom_message": {
      const { customType, content, display } = entry;
      return { role: "custom", customType, content, display, timestamp };
    }
    case "compaction": {
      const { summary, tokensBefore } = entry;
      return { role: "compactionSummary", summary, tokensBefore, timestamp };
    }
    default:
      return undefined;
  }
}

/** The kept messages before a compaction, and the messages after it up to the next answer. */
function restoredText(path: readonly Entry[], at: number): string {
  const entry = path[at]!;
  const kept = entry.type === "compaction" ? path.findIndex(({ id }) => id === entry.firstKeptEntryId) : -1;
  const texts = kept < 0 ? [] : path.slice(kept, at).map(textOf);
  for (const next of path.slice(at + 1)) {
    if (summaryOf(next) !== undefined || (next.type === "message" && next.message.role === "assistant"))
      break;
    texts.push(textOf(next));
  }
  return texts.join("\n");
}

function textOf(entry: Entry): string {
  const message = messageOf(entry);
  if (message === undefined) return "";
  return message.role === "assistant" ? JSON.stringify(message.content) : messageText(message);
}
