import type { Message } from "@bonsai-agent/messages";
import { type CompactionEntry, type ContextEditEntry, type Entry, UNDO_CUSTOM_TYPE } from "./entry.ts";

/** One message that the model sees, with the entry that it came from. */
export interface ProjectionItem {
  readonly entryId: string;
  readonly entry: Entry;
  readonly message: Message;
  /** The context edit that made this view differ from what is stored. */
  readonly edit?: ContextEditEntry;
}

/** What the model sees of a path, oldest first. */
export interface Projection {
  readonly items: readonly ProjectionItem[];
  /** The compaction whose summary stands first, if any. */
  readonly compaction?: CompactionEntry;
}

/** The latest compaction of a path that no later entry undoes. */
export function liveCompaction(path: readonly Entry[]): CompactionEntry | undefined {
  const undone = new Set<string>();
  for (const entry of path.toReversed()) {
    if (entry.type === "custom" && entry.customType === UNDO_CUSTOM_TYPE) {
      undone.add(String((entry.data as { compactionId?: unknown } | undefined)?.compactionId));
    }
    if (entry.type === "compaction" && !undone.has(entry.id)) return entry;
  }
  return undefined;
}

/**
 * The only maker of model context.
 * @param path entries in order, oldest first: a whole path, or a part that reaches back at least to
 *   the first kept entry of its live compaction.
 */
export function project(path: readonly Entry[]): Projection {
  const compaction = liveCompaction(path);
  const visible = compaction ? keptEntries(path, compaction) : path;
  const edits = new Map<string, ContextEditEntry>();
  for (const entry of visible) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  const items = visible.flatMap((entry) => {
    if (entry.type === "compaction" && entry !== compaction) return [];
    return projectEntry(entry, edits.get(entry.id));
  });
  return compaction ? { items, compaction } : { items };
}

function keptEntries(path: readonly Entry[], compaction: CompactionEntry): Entry[] {
  const at = path.indexOf(compaction);
  const firstKept = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const kept = firstKept >= 0 && firstKept < at ? path.slice(firstKept, at) : [];
  return [compaction, ...kept, ...path.slice(at + 1)];
}

function projectEntry(entry: Entry, edit: ContextEditEntry | undefined): ProjectionItem[] {
  const message = entryMessage(entry);
  if (message === undefined) return [];
  if (edit === undefined) return [{ entryId: entry.id, entry, message }];
  if (edit.replacement === null) return [];
  return [{ entryId: entry.id, entry, message: edited(message, edit.replacement.content), edit }];
}

function edited(message: Message, content: unknown): Message {
  switch (message.role) {
    case "user":
    case "custom":
      return { ...message, content } as Message;
    case "assistant":
    case "toolResult":
      return {
        ...message,
        content: typeof content === "string" ? [{ type: "text", text: content }] : content,
      } as Message;
    default:
      return message;
  }
}

/** The message that an entry contributes to the context, before edits; undefined for none. */
function entryMessage(entry: Entry): Message | undefined {
  const timestamp = Date.parse(entry.timestamp);
  switch (entry.type) {
    case "message":
      return shownMessage(entry.message);
    case "compaction":
      return {
        role: "compactionSummary",
        summary: entry.summary,
        tokensBefore: entry.tokensBefore,
        timestamp,
      };
    case "branch_summary":
      return { role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp };
    case "custom_message":
      return {
        role: "custom",
        customType: entry.customType,
        content: entry.content,
        display: entry.display,
        details: entry.details,
        timestamp,
      };
    default:
      return undefined;
  }
}

function shownMessage(message: Message | undefined): Message | undefined {
  if (typeof message !== "object" || message === null || message.role === "system") return undefined;
  if (message.role === "bashExecution" && message.excludeFromContext) return undefined;
  return message;
}
