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
  /** As the model sees it; undefined if the model does not. */
  shown: Message | undefined;
  /** Edits of the message, oldest first. */
  edits: readonly ContextEditEntry[];
}

/**
 * Hides a message of the current path from the model, or shows it again as it was before. Also changes the results of an
 * answer with calls. A line replaces a result that is hidden alone.
 *
 * Invariant: after any changes by hand, the model sees each call with its result, or neither.
 * @throws BonsaiError `entry_not_hideable`, and what appending throws; then nothing has changed
 */
export function toggleHidden(session: Session, entryId: string): HideChange {
  const all = pathMessages(session);
  const chosen = all.find((each) => each.entry.id === entryId);
  if (chosen === undefined || isOwnNote(chosen)) throw notHideable(session, entryId, chosen);
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

/** A message that `toggleHidden` hides or shows again. */
interface HideableMessage {
  entry: Entry;
  /** As the model sees it; if it is hidden, as it was stored. */
  message: Message;
  isHidden: boolean;
}

/** The messages of the current path that `toggleHidden` accepts, oldest first. */
export function hideableMessages(session: Session): readonly HideableMessage[] {
  const accepted = pathMessages(session).filter((each) => !isOwnNote(each));
  return accepted.map(({ entry, message, shown = message, edits }) => {
    const isHidden = isHiding(edits.at(-1));
    return { entry, message: isHidden ? message : shown, isHidden };
  });
}

/** True for a note that Bonsai adds, and removes at the next compaction. */
function isOwnNote({ message }: PathMessage): boolean {
  return message.role === "custom" && isNote(message);
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
  const shown = new Map(projection.items.map((item) => [item.entryId, item.message]));
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
      found.push({ entry, message, shown: shown.get(entry.id), edits: own });
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

function notHideable(session: Session, entryId: string, note: PathMessage | undefined): BonsaiError {
  const isSummary = session.entry(entryId)?.type === "compaction";
  const reason = isSummary
    ? "is a summary. A summary cannot be hidden."
    : note === undefined
      ? "is not in the model's context: a summary replaced it, it is on another branch, or it is no message."
      : "is a note of Bonsai. The next compaction removes it.";
  return new BonsaiError({
    /** The model's context does not contain this entry, or the entry is a summary or a note of Bonsai. */
    code: "entry_not_hideable",
    message: `Entry ${entryId} ${reason}`,
    hint: isSummary ? "Undo the compaction with /undo." : "Choose another message of the current context.",
  });
}
