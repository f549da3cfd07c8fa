import {
  clippedLine,
  displayId,
  numberedIds,
  openedText,
  type RecalledEntry,
  recalledEntry,
} from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { FRAMES, framed } from "@bonsai-agent/messages/host";
import type { Session } from "@bonsai-agent/session";
import { z } from "zod";
import { resolveEntryId } from "../call/session-file.ts";
import { type KnownSession, sessionWords } from "./known-sessions.ts";

export const openEntryInput = z.object({
  entry: z.string().describe("An entry id, or the number of a user message."),
  session: z.string().optional().describe("Id of the session. Default: this conversation."),
  around: z.string().optional().describe("Show only the lines around this text."),
  from_line: z
    .number()
    .int()
    .optional()
    .describe("First line to show. A negative number counts from the end."),
  context: z
    .number()
    .int()
    .min(0)
    .max(5)
    .optional()
    .describe("Number of neighbours to name before and after. Default: 1."),
});

type Input = z.infer<typeof openEntryInput>;

const MAX_TOKENS = 4_000;

/** Shows an entry, or a part of it, and names its neighbours. */
export function openEntry(session: Session, known: KnownSession, input: Input): string {
  const ids = entryIds(session, input.entry.trim().replace(/^\[(.*)\]$/, "$1"));
  const entries = ids.flatMap((id) => textOf(session, id) ?? []);
  if (entries.length === 0)
    throw new BonsaiError({
      code: "entry_without_text",
      message: `Entry ${displayId(input.entry)} has no text, or was removed from the conversation.`,
      hint: "Find other entries with recall.",
    });
  const part = { fromLine: input.from_line || undefined, around: input.around };
  const share = Math.floor(MAX_TOKENS / entries.length);
  const notes: string[] = [];
  const texts = entries.flatMap((entry) => {
    try {
      const { text, left } = openedText(entry.text, part, share);
      if (left !== undefined) notes.push(`${displayId(entry.entryId)}: ${argumentNames(left)}`);
      const calledBy = entry.calledBy === undefined ? "" : `, called in [${displayId(entry.calledBy)}]`;
      return [`${headOf(entry)}${calledBy}:\n${text}`];
    } catch (error) {
      notes.push(`${displayId(entry.entryId)}: ${argumentNames((error as Error).message)}`);
      return [];
    }
  });
  if (texts.length === 0)
    throw new BonsaiError({
      code: "wrong_usage",
      message: notes.join(" "),
      hint: "Open it without around and from_line first.",
    });
  const near = neighbours(session, [ids[0]!, ids.at(-1)!], input.context ?? 1);
  const body = framed(FRAMES.recalled, [...texts, ...near].join("\n\n"));
  return [`Session ${sessionWords(known)}`, body, ...notes].join("\n\n");
}

/** The ids of an entry, of a message number, or of the beginning of an id. @throws BonsaiError `entry_not_found` */
function entryIds(session: Session, name: string): string[] {
  if (session.entry(name) !== undefined) return [name];
  const numbered = numberedIds(session, name);
  return numbered.length > 0 ? numbered : [resolveEntryId(session, name)];
}

function textOf(session: Session, id: string): RecalledEntry | undefined {
  const entry = session.entry(id);
  return entry && recalledEntry(session, entry);
}

/** Renames the arguments of Bonsai's own tool in its messages. */
function argumentNames(text: string): string {
  return text.replaceAll("fromLine", "from_line");
}

function headOf({ entryId, who, time }: RecalledEntry): string {
  return [`[${displayId(entryId)}] ${who}`, ...(time === "" ? [] : [time])].join(", ");
}

/** The first lines of the entries before the first and after the last one, on the path to the leaf if they are on it. */
function neighbours(session: Session, [first, last]: [string, string], count: number): string[] {
  if (count === 0) return [];
  const path = session.path();
  const isOnPath = path.some(({ id }) => id === last);
  const ids = (isOnPath ? path : session.path(last)).map(({ id }) => id);
  const near = (found: readonly string[], title: string) => {
    const texts: string[] = [];
    for (const id of found) {
      const entry = texts.length < count ? textOf(session, id) : undefined;
      if (entry === undefined) continue;
      const text = entry.text.split("\n").find((each) => each.trim() !== "") ?? "";
      texts.push(`${title} ${headOf(entry)}: ${clippedLine(text, [])}`);
    }
    return texts;
  };
  const before = near(ids.slice(0, Math.max(0, ids.indexOf(first))).toReversed(), "Before:");
  return [...before.toReversed(), ...near(ids.slice(ids.indexOf(last) + 1), "After:")];
}
