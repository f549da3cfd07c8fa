import { contentText } from "@bonsai-agent/messages";
import { PASTED, withoutPastes } from "./pasted.ts";
import { clippedTexts, routineShape } from "./sentence.ts";
import { isUserMessage, programText, type SourceMessage } from "./source.ts";

/** A statement of the agent, an extension or another program. */
export interface Closing {
  /** The number of the user's message before it. */
  turn: number;
  entryId?: string | undefined;
  /** The author. Default: the agent. */
  by?: string | undefined;
  text: string;
  /** True for a statement before the end of its turn. */
  isInterim?: boolean | undefined;
  /** True for a statement on a branch that was left or merged. */
  isOnBranch?: boolean | undefined;
}

/**
 * The statements of the agent and of programs in the messages, oldest first.
 * @param turn the number of the user's latest message before them
 * @param isLastOpen true if the last turn continues after them
 */
export function closingsIn(messages: readonly SourceMessage[], turn: number, isLastOpen: boolean): Closing[] {
  const closings: Closing[] = [];
  let number = turn;
  let open: Closing | undefined;
  for (const { message, entryId } of messages) {
    if (isUserMessage(message)) {
      number += 1;
      open = undefined;
    }
    const told = programText(message);
    if (told !== undefined) closings.push({ turn: number, entryId, ...told, isInterim: true });
    if (message?.role !== "assistant") continue;
    const text = spoken(contentText(message.content));
    if (text === "") continue;
    if (open !== undefined) open.isInterim = true;
    open = { turn: number, entryId, text };
    closings.push(open);
  }
  if (isLastOpen && open !== undefined) open.isInterim = true;
  return closings;
}

/** Shortens pasted blocks to a mark, and removes heading marks, list marks and blank lines. */
function spoken(text: string): string {
  return withoutPastes(text)
    .replaceAll(PASTED, "[")
    .split("\n")
    .map((line) => line.replace(/^\s*(?:#{1,6}\s+|[-*+•]\s+)/, "").trim())
    .filter((line) => line !== "")
    .join("\n");
}

const LINE_TOKENS = 10;
/** Rank bonus of the newest statement over the oldest: it may revoke that one. */
const RECENCY = 3;
/** Rank of an interim statement, relative to the last one of a turn. */
const INTERIM = -3;

export interface ClosingsOptions {
  maxTokens: number;
  /** The topic to prefer. Default: none. */
  focus?: string | undefined;
}

/** Clips the statements to `maxTokens`. */
export function clippedClosings(closings: readonly Closing[], options: ClosingsOptions): Closing[] {
  const { maxTokens, focus } = options;
  const texts = clippedTexts(
    closings.map(({ text }) => text),
    {
      maxTokens,
      tokensBeside: () => LINE_TOKENS,
      recency: RECENCY,
      shapeOf: routineShape,
      worthOf: (at) => (closings[at]!.isInterim ? INTERIM : 0),
      focus,
    },
  );
  return closings.flatMap((closing, at) => {
    const text = texts[at];
    return text === undefined ? [] : [{ ...closing, text }];
  });
}

/** The line of a statement, with the number of the user's message before it. */
export function closingLine({ turn, entryId, by = "agent", text, isOnBranch }: Closing): string {
  const address = entryId === undefined ? "" : ` [${entryId}]`;
  const branch = isOnBranch ? " (on another branch)" : "";
  return `${turn}. ${by}${address}${branch}: ${onOneLine(text)}`;
}

/** Splits, because a regex with blanks around the line break is quadratic in a run of blanks. */
function onOneLine(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" / ");
}
