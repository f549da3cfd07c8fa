import {
  type BashExecutionMessage,
  contentBlocks,
  contentText,
  estimateTokens,
  textHead,
} from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import { type Closing, closingLine } from "./closings.ts";
import {
  clippedTexts,
  counted,
  isQuestion,
  normalForm,
  routineShape,
  sentencesOf,
  wordCount,
} from "./sentence.ts";
import { isUserMessage, type PersonMessage, ranCommand, type SourceMessage, typedText } from "./source.ts";

/** A message of the user in the user's own words. */
export interface SaidMessage {
  /** The number of the message among all of the user's messages, from 1; omitted messages count too. */
  turn: number;
  entryId?: string | undefined;
  /** The typed text, with a line for each pasted block. */
  text: string;
  /** The question that it answers, if it is too short to make sense alone. */
  answers?: string | undefined;
  /** True for a message on a branch that was left or merged. */
  isOnBranch?: boolean | undefined;
}

/** The user's messages, oldest first. */
export interface UserWords {
  said: readonly SaidMessage[];
  /** The number of messages that did not fit. */
  leftOut: number;
}

export const noWords: UserWords = { said: [], leftOut: 0 };

/**
 * The user's messages in order, and the end of the agent's text that the user has not answered yet.
 * @param before the number of the user's latest message before the span, and the agent's unanswered text at that point
 */
export function userMessages(
  messages: readonly SourceMessage[],
  before: { turn: number; unanswered?: string | undefined },
): { said: SaidMessage[]; unanswered: string | undefined } {
  const said: SaidMessage[] = [];
  let { turn, unanswered = "" } = before;
  for (const { message, entryId } of messages) {
    if (message?.role === "assistant")
      unanswered = textTail(contentText(message.content).trim(), UNANSWERED_CHARS) || unanswered;
    if (!isUserMessage(message)) continue;
    turn += 1;
    const text = textOf(message);
    const answers = isBrief(text) ? questionAtEnd(unanswered) : undefined;
    if (text !== "") said.push({ turn, entryId, text, ...(answers !== undefined && { answers }) });
    unanswered = "";
  }
  return { said, unanswered: unanswered === "" ? undefined : unanswered };
}

/** The typed text with a mark for images, or the line of a command. */
function textOf(message: PersonMessage): string {
  if (message.role === "bashExecution") return commandLine(message);
  const images = contentBlocks(message.content).filter((block) => block.type === "image").length;
  const marks = images === 0 ? "" : images === 1 ? "[image]" : `[${images} images]`;
  return [typedText(message), marks].filter((part) => part !== "").join(" ");
}

const COMMAND_CHARS = 200;

function commandLine(message: BashExecutionMessage): string {
  const { command, output, exitCode } = ranCommand(message);
  const first = textHead(command.split("\n", 1)[0]!, COMMAND_CHARS);
  const lines = output.split("\n").length;
  const code = exitCode === 0 ? "" : `, exit code ${exitCode}`;
  return `! ${first} [output, ${lines} ${lines === 1 ? "line" : "lines"}${code}]`;
}

const QUESTION_CHARS = 200;
/** Upper bound for the agent's text that waits for an answer. */
const UNANSWERED_CHARS = 6 * QUESTION_CHARS;
/** One or two remarks may follow a question. */
const LAST_SENTENCES = 3;

/** The question at the end of the text, or before a final list of choices. */
function questionAtEnd(text: string): string | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const items = lines.length - 1 - lines.findLastIndex((line) => !ITEM.test(line));
  const asked = sentencesOf(lines.join("\n")).slice(-LAST_SENTENCES).findLast(isQuestion);
  const beforeItems = sentencesOf(lines.slice(0, lines.length - items).join("\n")).at(-1);
  const question = asked ?? (beforeItems !== undefined && isQuestion(beforeItems) ? beforeItems : undefined);
  return question && textTail(question, QUESTION_CHARS);
}

/** An item of a list with a number or a letter. */
const ITEM = /^\s*[([*_]*[\p{N}\p{L}]{1,2}[.):\]、．]/u;

/** True for a text so short that it may need its question to make sense: "the second one", "8080". */
function isBrief(text: string): boolean {
  return wordCount(text) <= MAX_ANSWER_WORDS && !text.includes("[");
}

const MAX_ANSWER_WORDS = 5;

/**
 * Joins earlier and new messages. Keeps the last of equal messages. Drops a message without letters and digits. Always
 * keeps a message that alone answers its kind of question.
 */
export function joinedWords(earlier: UserWords, said: readonly SaidMessage[]): UserWords {
  const all = [...earlier.said, ...said];
  const forms = all.map(({ text }) => normalForm(text));
  const last = new Map(forms.map((form, at) => [form, at]));
  const questions = counted(all.map(({ answers = "" }) => routineShape(answers)));
  const isOnlyAnswer = ({ answers = "" }: SaidMessage) =>
    answers !== "" && questions.get(routineShape(answers)) === 1;
  return {
    said: all.filter(
      (message, at) => (forms[at] !== "" && last.get(forms[at]!) === at) || isOnlyAnswer(message),
    ),
    leftOut: earlier.leftOut,
  };
}

/** The tokens of a line besides its text: number and entry. */
const LINE_TOKENS = 9;
/** Rank bonus of the newest message over the oldest, if both are equally specific. */
const RECENCY = 2;

const RANKING = { recency: RECENCY, shapeOf: routineShape };

function besideTokens({ answers }: SaidMessage): number {
  return LINE_TOKENS + (answers === undefined ? 0 : estimateTokens(answers));
}

/** Clips the messages to `maxTokens`. @param focus the topic to prefer. Default: none */
export function clippedWords(words: UserWords, maxTokens: number, focus?: string): UserWords {
  const texts = clippedTexts(
    words.said.map(({ text }) => text),
    { maxTokens, tokensBeside: (at) => besideTokens(words.said[at]!), ...RANKING, focus },
  );
  const said = words.said.flatMap((each, at) => {
    const text = texts[at];
    return text === undefined ? [] : [text === each.text ? each : { ...each, text }];
  });
  return { ...words, said, leftOut: words.leftOut + words.said.length - said.length };
}

const WORDS =
  "The user's messages in order and word for word, each with its number and, in brackets, its entry. A later statement overrides an earlier one.";
const CONVERSATION =
  "The user's messages in order and word for word, each with its number and, in brackets, its entry. Lines marked agent quote parts of the agent's answers; their number is that of the user's message before them. A later statement overrides an earlier one.";

interface WordLinesOptions {
  /** The entry to omit, because the context shows it word for word elsewhere. */
  without?: string | undefined;
  /** Statements to show in their places between the user's messages. Default: none. */
  closings?: readonly Closing[];
}

/** The lines of the block; empty if there is nothing to show. */
export function wordLines({ said, leftOut }: UserWords, options: WordLinesOptions = {}): string[] {
  const { without, closings = [] } = options;
  const own = said.filter(({ entryId }) => entryId === undefined || entryId !== without);
  if (own.length + closings.length + leftOut === 0) return [];
  const others = `(${leftOut} ${leftOut === 1 ? "other message is" : "other messages are"} left out; find them with recall.)`;
  const placed = [
    ...own.map((message) => ({ turn: message.turn, line: wordLine(message) })),
    ...closings.map((closing) => ({ turn: closing.turn, line: closingLine(closing) })),
  ];
  placed.sort((a, b) => a.turn - b.turn);
  const introduction = closings.length === 0 ? WORDS : CONVERSATION;
  return [introduction, ...(leftOut === 0 ? [] : [others]), ...placed.map(({ line }) => line)];
}

function wordLine({ turn, entryId, text, answers, isOnBranch }: SaidMessage): string {
  const address = entryId === undefined ? "" : ` [${entryId}]`;
  const branch = isOnBranch ? " (on another branch)" : "";
  const question = answers === undefined ? "" : ` (asked: ${answers.replaceAll(/\s+/g, " ")})`;
  return `${turn}.${address}${branch}${question} ${text.replaceAll("\n", "\n  ")}`;
}
