import { BonsaiError } from "@bonsai-agent/messages";
import { escapeMarks, type Frame, PIN, UNPIN } from "@bonsai-agent/messages/host";
import { count as digits } from "@bonsai-agent/messages/numbers";
import {
  type CustomMessageEntry,
  customTypes,
  type Entry,
  type EntryDraftWithId,
  type PinChange,
  pinChange,
  type Session,
} from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import { storedDetails, texts } from "./details.ts";

/** A message of the session that pins or unpins a text: append it, or have the agent send it. */
type PinMessage = Pick<CustomMessageEntry, "customType" | "content" | "display" | "details">;

/** Characters of one pinned text, and of all of a path: a summary carries every one of them word for word. */
const MAX_PIN_CHARS = 4_000;
const MAX_PINS_CHARS = 16_000;

/**
 * The texts that are pinned on a path, oldest first, each once. Reads no more than what the model sees of it.
 * @param leafId where the path ends; default: the session's leaf
 */
export function pinnedTexts(session: Session, leafId: string | null = session.leafId): string[] {
  const { before, changes } = changesSince(session, leafId);
  return changed(before, changes);
}

/**
 * The same at the session's leaf, as it will be.
 * @param waiting messages that are not stored yet, oldest first; others than those of pins count for nothing
 */
export function pinnedSoon(session: Session, waiting: readonly WaitingMessage[]): string[] {
  const changes = waiting.map((message) => pinChange(message)).filter((change) => change !== undefined);
  return changed(pinnedTexts(session), changes);
}

/** A message that waits to be stored. */
type WaitingMessage = Pick<CustomMessageEntry, "customType" | "details">;

function changed(before: readonly string[], changes: readonly PinChange[]): string[] {
  const held = new Set(before);
  for (const { text, isPinned } of changes) {
    if (!isPinned) held.delete(text);
    else held.add(text);
  }
  return [...held];
}

/** What a path pins and unpins, oldest first, since the latest word on all that was pinned before. */
function changesSince(session: Session, leafId: string | null) {
  const changes: PinChange[] = [];
  const undone = new UndoneCompactions();
  for (const entry of session.tail(leafId)) {
    undone.older(entry);
    const before = undone.has(entry.id) ? undefined : pinnedBefore(entry);
    if (before !== undefined) return { before, changes: changes.reverse() };
    const change = pinChange(entry);
    if (change !== undefined) changes.push(change);
  }
  return { before: [], changes: changes.reverse() };
}

/** What was pinned before an entry, as the entry has it; undefined for one that has no list of that. */
function pinnedBefore(entry: Entry): string[] | undefined {
  if (entry.type === "custom" && entry.customType === customTypes.pinned)
    return texts((entry.data as { pinned?: unknown } | null | undefined)?.pinned);
  if (entry.type !== "compaction") return undefined;
  const { prose, pinned } = storedDetails(entry);
  return prose === undefined ? undefined : pinned;
}

/** The entry to write beside a summary whose details cannot hold what is pinned; none where nothing is. */
export function pinnedDrafts(pinned: readonly string[]): EntryDraftWithId[] {
  return pinned.length === 0 ? [] : [{ type: "custom", customType: customTypes.pinned, data: { pinned } }];
}

/**
 * The message that pins a text: the model sees it from then on, after every compaction too. A text that is pinned already
 * counts once.
 * @param waiting as `pinnedSoon` has them. Default: none
 * @throws BonsaiError `pin_empty`, `pin_too_long`, `pins_full`
 */
export function pinMessage(
  session: Session,
  given: string,
  waiting: readonly WaitingMessage[] = [],
): PinMessage {
  const text = given.trim();
  if (text === "")
    throw new BonsaiError({
      code: "pin_empty",
      message: "No text to pin.",
      hint: "Write an instruction, for example `/pin Never push to main.`",
    });
  if (text.length > MAX_PIN_CHARS)
    throw new BonsaiError({
      code: "pin_too_long",
      message: `The text is too long to pin: ${digits(text.length)} characters, and the limit is ${digits(MAX_PIN_CHARS)}.`,
      hint: "Save it in a file of the project, and pin the path.",
    });
  const pinned = pinnedSoon(session, waiting);
  const usedChars = pinned.reduce((sum, each) => sum + each.length, 0);
  if (!pinned.includes(text) && usedChars + text.length > MAX_PINS_CHARS)
    throw new BonsaiError({
      code: "pins_full",
      message: `Pinned texts can have at most ${digits(MAX_PINS_CHARS)} characters in total. ${digits(Math.max(0, MAX_PINS_CHARS - usedChars))} are left. This text has ${digits(text.length)}.`,
      hint: "Remove old pins with /pin.",
    });
  return message(customTypes.pin, PIN, text);
}

/** The message that takes a pin back: the next compaction does not carry the text any more. */
export function unpinMessage(text: string): PinMessage {
  return message(customTypes.unpin, UNPIN, text);
}

function message(customType: string, frame: Frame, text: string): PinMessage {
  const details = { text, line: escapeMarks(text) };
  return { customType, content: `${frame.begin}\n\n${text}\n\n${frame.end}`, display: true, details };
}

/** The pinned texts that a summary does not hold word for word. */
export function pinsMissingIn(summary: string, pinned: readonly string[]): string[] {
  const lines = `\n${summary}\n`;
  return pinned.filter((text) => !lines.includes(`\n${escapeMarks(text)}\n`));
}
