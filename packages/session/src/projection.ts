import { contentText, type Message } from "@bonsai-agent/messages";
import type { CompactionEntry, ContextEditEntry, Entry } from "./entry.ts";
import { needlessPins } from "./pin.ts";
import { ViewSeeker } from "./view-seeker.ts";

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
  return findView(path).compaction;
}

/**
 * The only maker of model context.
 * @param path entries in order, oldest first: a whole path, or a part that reaches back at least to
 *   the first kept entry of its live compaction.
 */
export function project(path: readonly Entry[]): Projection {
  const { compaction, firstKept } = findView(path);
  const visible = compaction ? [compaction, ...path.slice(firstKept)] : path;
  const edits = new Map<string, ContextEditEntry>();
  for (const entry of visible) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  const needless = needlessPins(visible, compaction);
  const items: ProjectionItem[] = [];
  visible.forEach((entry, index) => {
    if ((entry.type === "compaction" && index > 0) || needless.has(entry)) return;
    const item = projectEntry(entry, edits.get(entry.id));
    if (item !== undefined) items.push(item);
  });
  return compaction ? { items, compaction } : { items };
}

/** The live compaction of a path, and where what it keeps begins. */
function findView(path: readonly Entry[]): { compaction?: CompactionEntry; firstKept: number } {
  const seeker = new ViewSeeker();
  for (let at = path.length - 1; at >= 0; at -= 1) if (seeker.older(path[at]!)) break;
  const { compaction, keptCount } = seeker;
  return { ...(compaction && { compaction }), firstKept: path.length - keptCount };
}

/** What an entry contributes to the context; undefined for nothing. */
export function projectEntry(entry: Entry, edit?: ContextEditEntry): ProjectionItem | undefined {
  const message = entryMessage(entry);
  if (message === undefined) return undefined;
  if (edit === undefined) return { entryId: entry.id, entry, message };
  // An edit without a replacement is damaged: it edits nothing.
  if (edit.replacement === undefined) return { entryId: entry.id, entry, message };
  if (edit.replacement === null) return undefined;
  return { entryId: entry.id, entry, message: editedMessage(message, edit.replacement.content), edit };
}

/** A message with another content: for a command of the user, its output; a summary has none that could be replaced. */
export function editedMessage(message: Message, content: unknown): Message {
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
    case "bashExecution":
      return { ...message, output: typeof content === "string" ? content : contentText(content) };
    default:
      return message;
  }
}

/** The message that an entry contributes to the context, before edits; undefined for none. */
function entryMessage(entry: Entry): Message | undefined {
  if (entry.type === "message") return shownMessage(entry.message);
  const timestamp = Date.parse(entry.timestamp);
  switch (entry.type) {
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

/** What a model can be shown. A message of another role is kept and, like an entry of another type, left out. */
const SHOWN_ROLES: ReadonlySet<unknown> = new Set([
  "user",
  "assistant",
  "toolResult",
  "bashExecution",
  "custom",
  "branchSummary",
  "compactionSummary",
]);

function shownMessage(message: Message | undefined): Message | undefined {
  if (typeof message !== "object" || message === null || !SHOWN_ROLES.has(message.role)) return undefined;
  if (message.role === "bashExecution" && message.excludeFromContext) return undefined;
  return message;
}
