import { BonsaiError } from "@bonsai-agent/messages";
import { escapeMarks, FRAMES } from "@bonsai-agent/messages/host";
import { count as digits } from "@bonsai-agent/messages/numbers";
import { customTypes, type Entry, type EntryOf, pinChange, type Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import { besideOf, storedDetails } from "../details.ts";

/** A message that pins or unpins a text. Append it to the session, or let the agent send it. */
type PinMessage = Pick<EntryOf<"custom_message">, "customType" | "content" | "display" | "details">;

/** Maximum characters of one pinned text, and of all on a path: a summary carries each of them word for word. */
const MAX_PIN_CHARS = 4_000;
const MAX_PINS_CHARS = 16_000;

/** A message that waits to be stored. */
type WaitingMessage = Pick<EntryOf<"custom_message">, "customType" | "details">;

/**
 * Returns the pinned texts of a path, oldest first, without duplicates. Reads only the part that the model sees.
 * @param leafId the end of the path. Default: the session's leaf
 * @param waiting messages after the path that are not stored yet, oldest first; only those of pins count. Default: none
 */
export function pinnedTexts(
  session: Session,
  leafId: string | null = session.leafId,
  waiting: readonly WaitingMessage[] = [],
): string[] {
  let stored: readonly string[] = [];
  const newestFirst = waiting.map((message) => pinChange(message)).reverse();
  const undone = new UndoneCompactions();
  for (const entry of session.tail(leafId)) {
    undone.addOlder(entry);
    const before = undone.has(entry.id) ? undefined : pinnedBefore(entry);
    if (before !== undefined) {
      stored = before;
      break;
    }
    const change = pinChange(entry);
    if (change !== undefined) newestFirst.push(change);
  }
  const pinned = new Set(stored);
  for (const change of newestFirst.reverse()) {
    if (change?.isPinned) pinned.add(change.text);
    else if (change !== undefined) pinned.delete(change.text);
  }
  return [...pinned];
}

/** The list of pins that an entry stores; undefined without one. */
function pinnedBefore(entry: Entry): readonly string[] | undefined {
  if (entry.type !== "compaction") return besideOf(entry)?.pinned;
  const { prose, pinned } = storedDetails(entry);
  return prose === undefined ? undefined : pinned;
}

/**
 * Returns the message that pins a text. The model sees the text from then on, after every compaction too. A text that
 * is pinned already counts once.
 * @param waiting as for `pinnedTexts`. Default: none
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
  const pinned = pinnedTexts(session, session.leafId, waiting);
  const usedChars = pinned.reduce((sum, each) => sum + each.length, 0);
  if (!pinned.includes(text) && usedChars + text.length > MAX_PINS_CHARS)
    throw new BonsaiError({
      code: "pins_full",
      message: `Pinned texts can have at most ${digits(MAX_PINS_CHARS)} characters in total. ${digits(Math.max(0, MAX_PINS_CHARS - usedChars))} are left. This text has ${digits(text.length)}.`,
      hint: "Remove old pins with /pin.",
    });
  return message("pin", text);
}

/** Returns the message that unpins a text: the next compaction stops carrying it. */
export function unpinMessage(text: string): PinMessage {
  return message("unpin", text);
}

function message(kind: "pin" | "unpin", text: string): PinMessage {
  const { begin, end } = FRAMES[kind];
  const details = { text, line: escapeMarks(text) };
  return { customType: customTypes[kind], content: `${begin}\n\n${text}\n\n${end}`, display: true, details };
}

/** The pinned texts that a summary does not contain word for word. */
export function pinsMissingIn(summary: string, pinned: readonly string[]): string[] {
  const lines = `\n${summary}\n`;
  return pinned.filter((text) => !lines.includes(`\n${escapeMarks(text)}\n`));
}
