import { contentText } from "@bonsai-agent/messages";
import { PASTED, withoutPastes } from "./pasted.ts";
import { clippedTexts, routineShape } from "./sentence.ts";
import { isUserMessage, programText, type SourceMessage } from "./source.ts";

/** A statement of the agent, an extension or another program. */
export interface Closing {
  /** The number of the user's message that it came after. */
  turn: number;
  entryId?: string | undefined;
  /** The author. Default: the agent. */
  by?: string | undefined;
  text: string;
  /** True for what it said on the way, not at the end of its turn. */
  isInterim?: boolean | undefined;
  /** True for what was said on a branch that was left or merged. */
  isOnBranch?: boolean | undefined;
}

/**
 * What the agent said in the messages, oldest first: at the end of each turn, and on the way.
 * @param isLastOpen true where the last turn goes on behind them
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

/** Without blocks of code and tables, on one line. */
function spoken(text: string): string {
  return withoutPastes(text)
    .replaceAll(PASTED, "[")
    .split("\n")
    .map((line) => line.replace(/^\s*(?:#{1,6}\s+|[-*+•]\s+)/, "").trim())
    .filter((line) => line !== "")
    .join("\n");
}

const LINE_TOKENS = 10;
/** So much more is a statement of the end worth than one of the beginning: it may take that one back. */
const RECENCY = 3;
/** What was said on the way goes before what was said at the end. */
const INTERIM = -3;

export interface ClosingsOptions {
  maxTokens: number;
  /** What they should be about above all. Default: nothing. */
  focus?: string | undefined;
}

/** The statements that fit. */
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

/** A line of its own, with the number of the user's message that it came after. */
export function closingLine({ turn, entryId, by = "agent", text, isOnBranch }: Closing): string {
  const address = entryId === undefined ? "" : ` [${entryId}]`;
  const branch = isOnBranch ? " (on another branch)" : "";
  return `${turn}. ${by}${address}${branch}: ${onOneLine(text)}`;
}

/** Without a pattern: one with blanks around the break would take the square of a run of blanks. */
function onOneLine(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" / ");
}
