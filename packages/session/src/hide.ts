import { BonsaiError, callsIn, contentText, type Message } from "@bonsai-agent/messages";
import { isNote } from "@bonsai-agent/messages/host";
import type { ContextEditEntry, Entry } from "./entry.ts";
import { projectEntry } from "./projection.ts";
import type { Session } from "./session.ts";

/** Replaces a result that the user hid. Its call stays, and a call needs a result. */
const HIDDEN_RESULT = "[The user hid this result.]";
const hiddenResult = { content: [{ type: "text" as const, text: HIDDEN_RESULT }] };

/** A change by `toggleHidden`. */
interface HideChange {
  isHidden: boolean;
  /** The changed messages in order. */
  entryIds: readonly string[];
}

/** A message on the current path that no summary replaces. */
interface PathMessage {
  entry: Entry;
  /** As it was stored. */
  message: Message;
  /** Edits of the message, oldest first. */
  edits: readonly ContextEditEntry[];
}

/**
 * Hides a message of the current path from the model, or shows it again as it was before. An answer with calls takes its
 * results with it. A result alone leaves a line, so that its call keeps a result.
 *
 * Invariant: after any changes by hand, the model sees each call with its result, or neither.
 * @throws BonsaiError `entry_not_hideable`, and what appending throws; then nothing has changed
 */
export function toggleHidden(session: Session, entryId: string): HideChange {
  const all = pathMessages(session);
  const chosen = all.find(({ entry }) => entry.id === entryId) ?? notHideable(session, entryId);
  const isHidden = !isHiding(chosen.edits.at(-1));
  const isResultAlone = chosen.message.role === "toolResult" && !isRemoved(chosen);
  const unit = isResultAlone ? [chosen] : callAndResults(chosen, all);
  const changed = isResultAlone ? unit : unit.filter((each) => isRemoved(each) !== isHidden);
  const placeholder = isResultAlone ? hiddenResult : null;
  session.append(
    changed.map((each) => ({
      type: "context_edit" as const,
      targetId: each.entry.id,
      replacement: isHidden ? placeholder : replacementBefore(each),
    })),
  );
  return { isHidden, entryIds: changed.map(({ entry }) => entry.id) };
}

/** The messages of the current path that `toggleHidden` would show again, oldest first. Without obsolete notes of Bonsai. */
export function hiddenByEdit(session: Session): readonly Entry[] {
  return pathMessages(session).flatMap(({ entry, message, edits }) => {
    const isObsolete = message.role === "custom" && isNote(message);
    return isHiding(edits.at(-1)) && !isObsolete ? [entry] : [];
  });
}

/** True for an edit that hides a whole message. */
export function isHiding(edit: ContextEditEntry | undefined): boolean {
  if (edit === undefined) return false;
  return edit.replacement === null || contentText(edit.replacement.content) === HIDDEN_RESULT;
}

function isRemoved({ edits }: PathMessage): boolean {
  return edits.at(-1)?.replacement === null;
}

function pathMessages(session: Session): PathMessage[] {
  const projection = session.projection();
  const shown = new Set(projection.items.map((item) => item.entryId));
  const edits = new Map<string, ContextEditEntry[]>();
  const found: PathMessage[] = [];
  for (const entry of session.tail(session.leafId, projection)) {
    // An edit without a replacement is damaged: it edits nothing.
    if (entry.type === "context_edit" && entry.replacement !== undefined)
      edits.set(entry.targetId, [entry, ...(edits.get(entry.targetId) ?? [])]);
    const message = entry.type === "compaction" ? undefined : projectEntry(entry)?.message;
    const own = edits.get(entry.id) ?? [];
    // The view leaves out repeated pins.
    if (message !== undefined && (shown.has(entry.id) || own.at(-1)?.replacement === null))
      found.push({ entry, message, edits: own });
  }
  return found.reverse();
}

function callAndResults(chosen: PathMessage, all: readonly PathMessage[]): readonly PathMessage[] {
  const first = callOf(chosen, all);
  return all.filter((each) => callOf(each, all) === first);
}

/** The answer that called; for other messages the message itself. */
function callOf(each: PathMessage, all: readonly PathMessage[]): PathMessage {
  const { message } = each;
  if (message.role !== "toolResult") return each;
  const calls = ({ message: answer }: PathMessage) =>
    answer.role === "assistant" && callsIn(answer).some(({ id }) => id === message.toolCallId);
  return all.slice(0, all.indexOf(each)).findLast(calls) ?? each;
}

/** The view before the message was hidden: an earlier edit, such as a mask, or its own content. */
function replacementBefore({ edits, message }: PathMessage): ContextEditEntry["replacement"] {
  const isUndone = edits.at(-1)?.replacement === null ? isRemoval : isHiding;
  const before = edits.findLast((edit) => !isUndone(edit));
  return before?.replacement ?? { content: ownContent(message) };
}

function isRemoval({ replacement }: ContextEditEntry): boolean {
  return replacement === null;
}

type Content = NonNullable<ContextEditEntry["replacement"]>["content"];

function ownContent(message: Message): Content {
  if (message.role === "bashExecution") return message.output;
  // A damaged message can have any content.
  return "content" in message ? ((message.content ?? []) as Content) : [];
}

function notHideable(session: Session, entryId: string): never {
  const isSummary = session.entry(entryId)?.type === "compaction";
  throw new BonsaiError({
    /** The model's context does not contain this entry, or the entry is a summary. */
    code: "entry_not_hideable",
    message: isSummary
      ? `Entry ${entryId} is a summary. A summary cannot be hidden.`
      : `Entry ${entryId} is not in the model's context: a summary replaced it, it is on another branch, or it is no message.`,
    hint: isSummary ? "Undo the compaction with /undo." : "Choose a message of the current context.",
  });
}
