import {
  type BashExecutionMessage,
  type CustomMessage,
  callsIn,
  contentBlocks,
  contentText,
  estimateTokens,
  type Message,
  saidText,
  shortened,
  textHead,
  type UserMessage,
} from "@bonsai-agent/messages";
import {
  isProgramText,
  MESSAGE_TYPES,
  quotedFiles,
  readSummary,
  splitReminders,
  textTail,
  typedCommand,
} from "@bonsai-agent/messages/host";
import { counted } from "@bonsai-agent/messages/numbers";
import type { Closing, SaidMessage, SpanRecord, UserWords } from "../details.ts";
import { isMarked } from "./marks.ts";
import { fileMark, PASTED, withoutPastes } from "./pasted.ts";
import { type SelectionOptions, selectedTexts } from "./selection.ts";
import {
  countEach,
  isQuestion,
  normalForm,
  routineShape,
  sentencesOf,
  termsIn,
  wordCount,
} from "./sentence.ts";

/** A message, and its entry if it has one. */
export interface SourceMessage {
  message: Message;
  entryId?: string | undefined;
}

/** A message that a person wrote, or a command that a person ran. */
type PersonMessage = UserMessage | BashExecutionMessage;

/** True for a user message of a program. Messages that were typed in Bonsai say so. */
export function isOfProgram(message: UserMessage): boolean {
  return typedCommand(message) === undefined && isProgramText(contentText(message.content));
}

/** True for a person's message to the agent; it begins a turn. */
export function isUserMessage(message: Message): message is PersonMessage {
  if (message?.role === "user") return !isOfProgram(message);
  return message?.role === "bashExecution" && !message.excludeFromContext;
}

/** The command of a person and its outcome. A damaged field becomes empty, a damaged exit code 0. */
export function ranCommand({ command, output, exitCode }: BashExecutionMessage) {
  return {
    command: typeof command === "string" ? command : "",
    output: typeof output === "string" ? output : "",
    exitCode: typeof exitCode === "number" ? exitCode : 0,
  };
}

const typed = new WeakMap<UserMessage, string>();

/** The text that a person typed, with a line for each pasted block and sent file, and calls of skills as typed. Cached. */
export function typedText(message: UserMessage): string {
  const known = typed.get(message);
  if (known !== undefined) return known;
  const said = quotedFiles(splitReminders(saidText(message)).own.trim());
  const files = said.files.map(({ path, content }) => fileMark(path, content));
  const text = [withoutPastes(said.text).trim(), ...files].filter((part) => part !== "").join("\n");
  typed.set(message, text);
  return text;
}

/** The notes of a summary in the context, without the frame and the carried data. */
export function summaryProse({ summary }: { summary?: unknown }): string {
  return typeof summary === "string" ? readSummary(summary).prose.trim() : "";
}

/** Returns the text and author of a message from an extension or another program; undefined for other messages. */
function programText(message: Message): { by: string; text: string } | undefined {
  const type = programType(message);
  if (type === undefined || IGNORED_TYPES.has(type)) return undefined;
  const { content } = message as CustomMessage | UserMessage;
  const text = splitReminders(contentText(content)).own.trim();
  const by = type === "" || type.startsWith("bonsai.") ? "program" : `extension ${type}`;
  return { by, text: shortened(withoutPastes(text), MAX_PROGRAM_CHARS) || "(no text)" };
}

/** The type of an extension's message; empty for a user message of a program. */
function programType(message: Message): string | undefined {
  if (message?.role === "custom") return String(message.customType);
  return message?.role === "user" && isOfProgram(message) ? "" : undefined;
}

/** Types without text for the digest: pins are carried as data, and a request to continue has no content. */
const IGNORED_TYPES: ReadonlySet<string> = new Set(Object.values(MESSAGE_TYPES));
/** About 250 tokens, enough to identify a longer text. */
const MAX_PROGRAM_CHARS = 1_000;

/**
 * The user's messages, oldest first, with the number of the last one and the end of the agent's text that the user has not
 * answered yet.
 * @param before number and text before these messages. Default: none
 */
export function saidIn(
  messages: readonly SourceMessage[],
  before: Pick<SpanRecord, "turns" | "unanswered"> = { turns: 0 },
): Pick<SpanRecord, "turns" | "unanswered"> & Pick<UserWords, "said"> {
  const said: SaidMessage[] = [];
  let { turns: turn, unanswered } = before;
  for (const { message, entryId } of messages) {
    if (isUserMessage(message)) {
      turn += 1;
      const text = textOf(message);
      const answers = isBrief(text) ? questionAtEnd(unanswered ?? "") : undefined;
      if (text !== "") said.push({ turn, entryId, text, ...(answers !== undefined && { answers }) });
      unanswered = undefined;
    } else if (message?.role === "assistant")
      unanswered = textTail(contentText(message.content).trim(), UNANSWERED_CHARS) || unanswered;
  }
  return { said, turns: turn, unanswered };
}

/**
 * The user's messages as in `saidIn`, and the statements of the agent and of programs, oldest first.
 * @param isLastOpen true if the last turn continues after them. Default: false
 */
export function statementsIn(
  messages: readonly SourceMessage[],
  before: Pick<SpanRecord, "turns" | "unanswered"> = { turns: 0 },
  isLastOpen = false,
): ReturnType<typeof saidIn> & Pick<SpanRecord, "closings"> {
  const closings: Closing[] = [];
  let turn = before.turns;
  let open: Closing | undefined;
  for (const { message, entryId } of messages) {
    const program = programText(message);
    if (program !== undefined) closings.push({ turn, entryId, ...program, isInterim: true });
    else if (isUserMessage(message)) {
      turn += 1;
      open = undefined;
    } else if (message?.role === "assistant") {
      const said = spoken(contentText(message.content));
      const text = callsIn(message).length > 0 ? withoutAnnouncement(said) : said;
      if (text === "") continue;
      if (open !== undefined) open.isInterim = true;
      open = { turn, entryId, text };
      closings.push(open);
    }
  }
  if (isLastOpen && open !== undefined) open.isInterim = true;
  return { ...saidIn(messages, before), closings };
}

/** The typed text with a mark for images, or the line of a command. */
function textOf(message: PersonMessage): string {
  if (message.role === "bashExecution") return commandLine(message);
  const images = contentBlocks(message.content).filter((block) => block.type === "image").length;
  const marks = images === 0 ? "" : images === 1 ? "[image]" : `[${images} images]`;
  return [typedText(message), marks].filter((part) => part !== "").join(" ");
}

const MAX_COMMAND_CHARS = 200;
/** A longer output keeps its first and its last lines, a third of the limit each. */
const MAX_OUTPUT_LINES = 12;
const MAX_OUTPUT_LINE_CHARS = 160;

/** The command and its output: the user ran it to show it to the agent. */
function commandLine(message: BashExecutionMessage): string {
  const { command, output, exitCode } = ranCommand(message);
  const first = textHead(command.split("\n", 1)[0]!, MAX_COMMAND_CHARS);
  const code = exitCode === 0 ? "" : ` [exit code ${exitCode}]`;
  const lines = output.split("\n").filter((line) => line.trim() !== "");
  const ends = MAX_OUTPUT_LINES / 3;
  const omitted = `[${counted(lines.length - 2 * ends, "more line")}]`;
  const shown =
    lines.length <= MAX_OUTPUT_LINES ? lines : [...lines.slice(0, ends), omitted, ...lines.slice(-ends)];
  return [`! ${first}${code}`, ...shown.map((line) => textHead(line, MAX_OUTPUT_LINE_CHARS))].join("\n");
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
  const shapes = all.map(({ answers = "" }) => (answers === "" ? "" : routineShape(answers)));
  const questions = countEach(shapes);
  return {
    said: all.filter(
      ({ answers = "" }, at) =>
        (forms[at] !== "" && last.get(forms[at]!) === at) ||
        (answers !== "" && questions.get(shapes[at]!) === 1),
    ),
    leftOut: earlier.leftOut,
  };
}

/** Tokens of a line's number and author. */
const LINE_TOKENS = { words: 2, closings: 3 };

interface StatementsOptions {
  maxTokens: number;
  /** The topic to prefer. Default: none. */
  focus?: string | undefined;
}

function clipped<Item extends { text: string }>(items: readonly Item[], options: SelectionOptions): Item[] {
  const own = items.map(({ text }) => text);
  const texts = selectedTexts(own, options);
  return items.flatMap((item, at) => {
    const text = texts[at];
    return text === undefined ? [] : [{ ...item, text }];
  });
}

/** The latest result for each words: a compaction shows, counts and reviews the same ones. */
const lastClipped = new WeakMap<UserWords, StatementsOptions & { kept: UserWords }>();

/** Clips the user's messages to `maxTokens`. Cached. */
export function clippedWords(words: UserWords, { maxTokens, focus }: StatementsOptions): UserWords {
  const last = lastClipped.get(words);
  if (last?.maxTokens === maxTokens && last.focus === focus) return last.kept;
  const { said, leftOut } = words;
  const tokensBeside = (at: number) => tokensBesideWords(said[at]!);
  const fitting = clipped(said, { maxTokens, focus, tokensBeside, needsLater: true });
  const kept = { said: fitting, leftOut: leftOut + said.length - fitting.length };
  lastClipped.set(words, { maxTokens, focus, kept });
  return kept;
}

/** Clips the statements of the agent and of programs to `maxTokens`. */
export function clippedClosings(closings: readonly Closing[], options: StatementsOptions): Closing[] {
  return clipped(closings, { ...options, tokensBeside: () => LINE_TOKENS.closings });
}

/** The number of a message, and the question that it answers. */
function tokensBesideWords({ answers }: SaidMessage): number {
  return LINE_TOKENS.words + (answers === undefined ? 0 : estimateTokens(`(asked: ${answers}) `));
}

/** The tokens of all the user's messages with their numbers. */
export function wordsTokens({ said }: UserWords): number {
  return said.reduce((sum, message) => sum + estimateTokens(message.text) + tokensBesideWords(message), 0);
}

/** The tokens of all statements with their numbers and authors. */
export function closingsTokens(closings: readonly Closing[]): number {
  return closings.reduce((sum, { text }) => sum + estimateTokens(text) + LINE_TOKENS.closings, 0);
}

const WORDS =
  "The user's messages in order and word for word, each with its number. They are a record: at most the latest request is open. A later statement overrides an earlier one.";
const CONVERSATION =
  "The user's messages in order and word for word, each with its number. Lines marked agent quote parts of the agent's answers; their number is that of the user's message before them. They are a record: at most the latest request is open. A later statement overrides an earlier one.";

const MARKS =
  'A note such as "fixed in 5", in brackets, follows a sentence that is outdated since message 5.';

interface WordLinesOptions {
  /** The entry to omit, because the context shows it word for word elsewhere. */
  without?: string | undefined;
  /** Statements to show in their places between the user's messages. Default: none. */
  closings?: readonly Closing[];
  /** True: each line names its entry too, in brackets. Default: false. */
  namesEntries?: boolean | undefined;
}

/** The lines of the block; empty if there is nothing to show. */
export function wordLines({ said, leftOut }: UserWords, options: WordLinesOptions = {}): string[] {
  const { without, closings = [], namesEntries } = options;
  const own = said.filter(({ entryId }) => entryId === undefined || entryId !== without);
  if (own.length + closings.length + leftOut === 0) return [];
  const others = `(${leftOut} ${leftOut === 1 ? "other message is" : "other messages are"} left out; recall opens each by its number.)`;
  const placed = [
    ...own.map((message) => ({ turn: message.turn, line: wordLine(message, namesEntries) })),
    ...closings.map((closing) => ({ turn: closing.turn, line: closingLine(closing, namesEntries) })),
  ];
  placed.sort((a, b) => a.turn - b.turn);
  const opening = closings.length === 0 ? WORDS : CONVERSATION;
  const introduction = placed.some(({ line }) => isMarked(line)) ? `${opening} ${MARKS}` : opening;
  return [introduction, ...(leftOut === 0 ? [] : [others]), ...placed.map(({ line }) => line)];
}

function wordLine(said: SaidMessage, namesEntry = false): string {
  const { turn, text, answers } = said;
  const question = answers === undefined ? "" : ` (asked: ${answers.replaceAll(/\s+/g, " ")})`;
  return `${turn}.${origin(said, namesEntry)}${question} ${text.replaceAll("\n", "\n  ")}`;
}

/** The line of a statement, with the number of the user's message before it. */
export function closingLine(closing: Closing, namesEntry = false): string {
  const { turn, by = "agent", text } = closing;
  return `${turn}. ${by}${origin(closing, namesEntry)}: ${trimmedLines(text).join(" / ")}`;
}

/** The entry of a message on another branch, because the message number cannot open it. */
function origin({ entryId, isOnBranch }: SaidMessage | Closing, namesEntry: boolean): string {
  const address = entryId !== undefined && (namesEntry || isOnBranch) ? ` [${entryId}]` : "";
  return `${address}${isOnBranch ? " (on another branch)" : ""}`;
}

/** Removes a last sentence that only announces the call after it: "Now the parser:". */
function withoutAnnouncement(text: string): string {
  if (!/[:：]$/u.test(text)) return text;
  const last = sentencesOf(text).at(-1) ?? "";
  return text.endsWith(last) ? text.slice(0, text.length - last.length).trim() : text;
}

/** Shortens pasted blocks to a mark, and removes heading marks, list marks and blank lines. */
function spoken(text: string): string {
  const own = withoutPastes(text).replaceAll(PASTED, "[");
  return trimmedLines(own, /^\s*(?:#{1,6}\s+|[-*+•]\s+)/).join("\n");
}

/** Splits, because a regex with blanks around the line break is quadratic in a run of blanks. */
function trimmedLines(text: string, mark: RegExp | "" = ""): string[] {
  const lines = text.split("\n").map((line) => line.replace(mark, "").trim());
  return lines.filter((line) => line !== "");
}

/** A shorter statement in the middle of a turn only announces the next step, unless it has a name or number. */
const MIN_STATE_WORDS = 6;

/** The agent's latest statement on the current branch about the state of its work, also in the middle of a turn. */
export function lastAnswer(closings: readonly Closing[]): Closing | undefined {
  const own = closings.filter(({ by, isOnBranch }) => by === undefined && !isOnBranch);
  const tells = ({ text, isInterim }: Closing) =>
    !isInterim || wordCount(text) >= MIN_STATE_WORDS || termsIn(text).size > 0;
  return own.findLast(tells) ?? own.at(-1);
}

/** The other statements that fit: a digest quotes the last answer at its end. */
export function otherClosings(closings: readonly Closing[], options: StatementsOptions): Closing[] {
  const last = lastAnswer(closings);
  return clippedClosings(
    closings.filter((closing) => closing !== last),
    options,
  );
}
