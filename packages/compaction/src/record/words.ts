import {
  type BashExecutionMessage,
  byScript,
  contentBlocks,
  contentText,
  textHead,
  textTail,
} from "@bonsai-agent/messages";
import { clippedTexts, counted } from "./clip.ts";
import { type Closing, closingLine } from "./closings.ts";
import { soundsLikeRule } from "./language.ts";
import { isQuestion, normalForm, routineShape, sentencesOf, termsIn, wordCount } from "./sentence.ts";
import { isSaid, type PersonMessage, ranCommand, type SourceMessage, typedText } from "./source.ts";

/** A message of the user in the user's own words. */
export interface SaidMessage {
  /** Which of the user's messages it is, from 1; of all that was said, also of what is not carried. */
  turn: number;
  entryId?: string | undefined;
  /** What was pasted is a line that names it. */
  text: string;
  /** The question that it answers, where it is too short to stand alone. */
  answers?: string | undefined;
  /** True for what was said on a branch that was left or merged. */
  isOnBranch?: boolean | undefined;
  /** How often it was said in all: of a few words that came up more than once. */
  times?: number | undefined;
}

/** What the user said, oldest first. */
export interface UserWords {
  said: readonly SaidMessage[];
  /** Messages that there was no room for. */
  leftOut: number;
  /** Short texts that came up again and again: they say nothing new. In their normal form. */
  fillers: readonly string[];
}

export const noWords: UserWords = { said: [], leftOut: 0, fillers: [] };

/** A message as it was said. */
interface Utterance extends SaidMessage {
  /** True for one word that answers nothing and that the agent does not take up: "ok". */
  isBare?: boolean;
}

/** What a span begins with and is followed by. */
interface Surroundings {
  /** The number of the user's latest message before it. */
  turn: number;
  /** The end of what the agent said last, where nobody has answered it yet. Default: nothing. */
  unanswered?: string | undefined;
  /** What comes after it and is not part of it. Default: nothing. */
  following?: readonly SourceMessage[];
}

/** What the user said in the messages, in order, and what of the agent's words is unanswered at their end. */
export function saidIn(
  messages: readonly SourceMessage[],
  { turn, unanswered = "", following = [] }: Surroundings,
): { said: Utterance[]; unanswered: string | undefined } {
  const said: Utterance[] = [];
  let number = turn;
  let before = unanswered;
  for (const { message, entryId } of messages) {
    if (message?.role === "assistant") before = takenUp(said, contentText(message.content)) || before;
    if (!isSaid(message)) continue;
    number += 1;
    const text = textOf(message);
    if (text !== "") said.push({ turn: number, entryId, ...utterance(text, before) });
    before = "";
  }
  for (const { message } of following) {
    if (isSaid(message)) break;
    if (message?.role === "assistant") takenUp(said, contentText(message.content));
  }
  return { said, unanswered: before === "" ? undefined : before };
}

/** Marks the last word of the user's that the agent's text takes up. @returns the end of the text */
function takenUp(said: readonly Utterance[], text: string): string {
  const last = said.at(-1);
  if (last?.isBare && sharesWords(last.text, text)) last.isBare = false;
  return textTail(text.trim(), UNANSWERED_CHARS);
}

/** @param before what the agent said last, where nobody has answered it yet */
function utterance(text: string, before: string): Pick<Utterance, "text" | "answers" | "isBare"> {
  if (!isBrief(text)) return { text };
  const answers = questionAtEnd(before) ?? (isVeto(text) ? lastSentence(before) : undefined);
  if (answers !== undefined) return { text, answers };
  if (!isShort(text)) return { text };
  return { text, isBare: wordCount(text) < LEAST_WORDS && !sharesWords(text, before) && !isVeto(text) };
}

/** "no", said to what was no question: it takes back what the agent set out to do. */
function isVeto(text: string): boolean {
  return isShort(text) && soundsLikeRule(text);
}

function lastSentence(text: string): string | undefined {
  const last = sentencesOf(text).at(-1);
  return last && textTail(last, QUESTION_CHARS);
}

function sharesWords(text: string, other: string): boolean {
  const words = new Set(normalForm(other).split(" "));
  return normalForm(text)
    .split(" ")
    .some((word) => word.length > 2 && words.has(word));
}

/** A person's message in its own words. */
function textOf(message: PersonMessage): string {
  if (message.role === "bashExecution") return commandLine(message);
  const images = contentBlocks(message.content).filter((block) => block.type === "image").length;
  const words = withoutEchoes(typedText(message));
  const marks = images === 0 ? "" : images === 1 ? "[image]" : `[${images} images]`;
  return [words, marks].filter((part) => part !== "").join(" ");
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
/** What is kept of the agent's words until the user has answered them. */
const UNANSWERED_CHARS = 6 * QUESTION_CHARS;
/** A question may have a remark or two behind it. */
const LAST_SENTENCES = 3;

/** The question that the text ends with, and the choices that it leaves. */
function questionAtEnd(text: string): string | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const items = lines.length - 1 - lines.findLastIndex((line) => !ITEM.test(line));
  const behind = lines.slice(lines.length - items);
  const asked = sentencesOf(lines.join("\n")).slice(-LAST_SENTENCES).findLast(isQuestion);
  if (asked !== undefined) return withChoices(asked, choicesBefore(lines, asked));
  const beforeItems = sentencesOf(lines.slice(0, lines.length - items).join("\n")).at(-1);
  return beforeItems !== undefined && isQuestion(beforeItems) ? withChoices(beforeItems, behind) : undefined;
}

/** An item of a list that is told by its number or letter. */
const ITEM = /^\s*[([*_]*[\p{N}\p{L}]{1,2}[.):\]、．]/u;
/** Two of such marks on one line. */
const CHOICES = /(?:^|\s)[([]?[A-Za-z\d][)\]]\s.*\s[([]?[A-Za-z\d][)\]]\s/;

function choicesBefore(lines: readonly string[], question: string): string[] {
  const at = lines.findLastIndex((line) => line.includes(question));
  const choices: string[] = [];
  for (let line = at - 1; line >= 0 && ITEM.test(lines[line]!); line -= 1) choices.unshift(lines[line]!);
  if (choices.length > 1) return choices;
  const before = lines[at - 1] ?? "";
  return CHOICES.test(before) ? [before] : [];
}

const CHOICE_CHARS = 80;
const MOST_CHOICES = 6;

function withChoices(question: string, choices: readonly string[]): string {
  const shown = choices
    .slice(-MOST_CHOICES)
    .map((choice) => textHead(choice.trim(), choices.length === 1 ? QUESTION_CHARS : CHOICE_CHARS));
  return [...shown, textTail(question, QUESTION_CHARS)].join(" / ");
}

/** A sentence that is written again and again in one message is written once. */
function withoutEchoes(text: string): string {
  const sentences = sentencesOf(text);
  const different = new Map(sentences.map((sentence) => [normalForm(sentence), sentence]));
  return different.size * ECHOES > sentences.length || sentences.length === 0
    ? text
    : `${[...different.values()].join(" ")} …`;
}

/** With each sentence so many times, a text is an echo. */
const ECHOES = 3;

/** So little that it may need the question which it answers: "the second one", "8080". */
function isBrief(text: string): boolean {
  return wordCount(text) <= MOST_ANSWER_WORDS && !text.includes("[");
}

const MOST_ANSWER_WORDS = 5;

/** A few words without anything specific in them, and without a mark for what else was there. */
function isShort(text: string): boolean {
  return wordCount(text) <= 3 && termsIn(text).size === 0 && !/[\p{N}[]/u.test(text);
}

/** One word, or three characters of a script without spaces. */
const LEAST_WORDS = 1.6;
/** What is said so often in so few words is a habit. */
const OFTEN = 3;
const MOST_FILLERS = 60;

/** All that was said, without what says nothing new: repeated requests, and short texts that come up again and again. */
export function joinedWords(earlier: UserWords, said: readonly Utterance[]): UserWords {
  const all: (Utterance & { form: string })[] = [...earlier.said, ...said].map((message) => ({
    ...message,
    form: normalForm(message.text),
  }));
  const counts = new Map<string, number>();
  for (const { form, times = 1, isBare } of all)
    if (!isBare) counts.set(form, (counts.get(form) ?? 0) + times);
  const questions = counted(all.map(({ answers = "" }) => routineShape(answers)));
  const last = new Map(all.map(({ form }, at) => [form, at]));
  const isHabit = ({ text, form, isBare }: (typeof all)[number]) =>
    isBare || (isShort(text) && (counts.get(form) ?? 0) >= OFTEN && !soundsLikeRule(text));
  const fillers = new Set([...earlier.fillers, ...all.filter(isHabit).map(({ form }) => form)]);
  const known = new Set([...fillers].flatMap((filler) => filler.split(" ")));
  const kept = all.filter(({ text, form, answers = "", isBare }, at) => {
    // An answer to what is asked again and again is as much of a habit.
    if (answers !== "" && questions.get(routineShape(answers)) === 1) return true;
    if (form === "" || isBare) return text.includes("[");
    const isFiller = isShort(text) && form.split(" ").every((word) => known.has(word));
    return last.get(form) === at && (!isFiller || soundsLikeRule(text));
  });
  const keptCounts = counted(kept.map(({ form }) => form));
  return {
    said: kept.map((each) => {
      const { form, isBare: _, times: __, ...message } = each;
      // Those that stand elsewhere, with the question that they answer, count there.
      const times = (counts.get(form) ?? 0) - keptCounts.get(form)! + 1;
      if (times < 2 || fillers.has(form) || !isShort(each.text)) return message;
      return all[last.get(form)!] === each ? { ...message, times } : message;
    }),
    leftOut: earlier.leftOut,
    fillers: [...fillers].slice(-MOST_FILLERS),
  };
}

/** What a line takes beside its text: number and entry. */
const LINE_TOKENS = 9;
/** Of what is equally specific, the newest is worth so much more than the oldest. */
const RECENCY = 2;

const RANKING = { recency: RECENCY, shapeOf: routineShape };

function besideTokens({ answers }: SaidMessage): number {
  return LINE_TOKENS + (answers === undefined ? 0 : byScript(answers));
}

/** As much of it as fits. @param focus what it should be about above all */
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
  /** An entry that stands elsewhere word for word. */
  without?: string | undefined;
  /** What the agent said, in its place between the user's messages. Default: nothing. */
  closings?: readonly Closing[];
}

/** The lines of the block; none where nothing was said. */
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
  const question =
    answers === undefined ? "" : ` (${reference(answers)}: ${answers.replaceAll(/\s+/g, " ")})`;
  return `${turn}.${address}${branch}${question} ${text.replaceAll("\n", "\n  ")}`;
}

function reference(answers: string): string {
  return isQuestion(answers) ? "asked" : "to";
}
