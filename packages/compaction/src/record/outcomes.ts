import { contentText, estimateTokens, type Message, type ToolCall } from "@bonsai-agent/messages";
import { CallPairs, recalledIds } from "@bonsai-agent/messages/host";
import type { FailedCommand, Outcomes, SpanRecord } from "../details.ts";
import {
  actsByTool,
  asksOnly,
  type Command,
  type CommandGroup,
  checkedPart,
  covers,
  isCommit,
  isIrreversible,
  readCommands,
  writtenCommand,
} from "./commands.ts";
import { EXIT_LINE } from "./error-line.ts";
import { type ClosedFailure, fixedMark, isMarked } from "./marks.ts";
import { failureLine, linesOf, type RunResult, reportsFailure, resultOf } from "./run-result.ts";
import { clippedLine, contentWords, isMeasure, termsIn, textsIn } from "./sentence.ts";
import { isUserMessage, type SourceMessage } from "./statements.ts";
import { afterTodos, boxesOf, type ListedTodo, listOf } from "./todos.ts";

/** Maximum length of each list; the oldest are dropped first. */
const MAX_KEPT = { failing: 40, irreversible: 60 };
const MAX_IRREVERSIBLE_CHARS = 160;
const MAX_KEY_CHARS = 400;

/**
 * Extends the outcomes with more messages. A call and its result are in the same span: no cut separates them.
 * @param following messages after the span: they resolve failures and to-dos, but add none
 */
export function outcomesAfter(
  earlier: Outcomes,
  messages: readonly SourceMessage[],
  following: readonly SourceMessage[] = [],
): Outcomes {
  return trackOutcomes({ outcomes: earlier, turns: 0 }, messages, following).outcomes;
}

/** Extends the outcomes like {@link outcomesAfter}, and also returns the failures that the messages close. */
export function trackOutcomes(
  { outcomes, turns }: Pick<SpanRecord, "outcomes" | "turns">,
  messages: readonly SourceMessage[],
  following: readonly SourceMessage[],
): { outcomes: Outcomes; closed: readonly ClosedFailure[] } {
  const tracker = new OutcomeTracker(outcomes, turns);
  for (const message of messages) tracker.read(message);
  tracker.adds = false;
  for (const message of following) tracker.read(message);
  return tracker;
}

class OutcomeTracker {
  adds = true;
  outcomes: Outcomes;
  readonly closed: ClosedFailure[] = [];
  #turn: number;
  #at = -1;
  /** The index of the first passed check after each failure, by its entry. */
  readonly #passedAfter = new Map<string, number>();
  readonly #calls = new CallPairs();
  /** The parsed commands of each key. */
  readonly #read = new Map<string, readonly Command[]>();

  constructor(earlier: Outcomes, turns: number) {
    this.outcomes = earlier;
    this.#turn = turns;
  }

  read({ message, entryId }: SourceMessage): void {
    this.#at += 1;
    if (isUserMessage(message)) this.#turn += 1;
    const call = this.#calls.add(message)?.call;
    if (recalledIds(message) !== undefined) return;
    const command = commandIn(message, call);
    if (command !== undefined) this.#ran(command, resultOf({ ...message }), entryId);
    else if (message?.role === "assistant" || message?.role === "user")
      this.#listed(boxesOf(contentText(message.content)), undefined, entryId);
    else if (call !== undefined && message.role === "toolResult") {
      if (message.isError !== true && actsByTool(call))
        this.#did(callText(call), linesOf(contentText(message.content))[0], entryId);
      const isKnown = this.outcomes.openTodos.some(({ tool }) => tool === call.name);
      const list = listOf(call.arguments, isKnown) ?? listOf(message.details, isKnown);
      if (message.isError !== true && list !== undefined) this.#listed(list, call.name, entryId);
    }
  }

  #listed(list: readonly ListedTodo[], tool: string | undefined, entryId: string | undefined): void {
    if (list.length === 0 && tool === undefined) return;
    const openTodos = afterTodos(this.outcomes.openTodos, list, { adds: this.adds, tool, entryId });
    this.outcomes = { ...this.outcomes, openTodos };
  }

  #ran(written: string, result: RunResult, entryId: string | undefined): void {
    if (result.state === "aborted") return;
    const all = readCommands(written);
    if (result.state === "refused") {
      const commands = all.flatMap((group) => group.commands);
      if (this.adds && commands.length > 0) this.#addFailed(commands, { line: "", entryId, isRefused: true });
      return;
    }
    const groups = groupStates(all, result);
    // The output of a chain does not show which command wrote a line.
    const isAlone = groups.flatMap(([{ commands }]) => commands).filter(counts).length === 1;
    const made = result.state === "passed" && isAlone ? madeLine(result.lines, written) : undefined;
    groups.forEach(([{ commands }, state], at) => {
      if (state === "failed") this.#failed(commands.filter(counts), result, entryId);
      else if (state === "passed") for (const command of commands.filter(counts)) this.#passed(command);
      // In a failed chain, `a && b`, the commands before the last one that counts ran.
      const ran = state === "failed" ? commands.slice(0, commands.findLastIndex(counts)) : commands;
      const last =
        at === groups.length - 1
          ? ran.findLast((command) => counts(command) && !asksOnly(command))
          : undefined;
      for (const command of ran) {
        const line = command === last && made !== undefined && !isCommit(command) ? made : undefined;
        if (isIrreversible(command) || (line !== undefined && !command.isCheck))
          this.#did(command.text, line, entryId);
      }
    });
  }

  #passed({ folder, ...passed }: Command): void {
    const {
      isCheck,
      identity: [program = ""],
    } = passed;
    if (!this.outcomes.failing.some(({ key }) => isCheck || key.includes(program))) return;
    const [again] = this.#commandsOf(keyOf(passed));
    if (again === undefined) return;
    for (const { entryId = "" } of this.outcomes.failing)
      if (again.isCheck && !this.#passedAfter.has(entryId)) this.#passedAfter.set(entryId, this.#at);
    this.#checkAgain(again, folder);
    this.#close((part) => covers(again, part), folder);
  }

  /** Marks failures whose error another check has checked again. */
  #checkAgain(passed: Command, folder: string | undefined): void {
    const failing = this.outcomes.failing.map((failed) => {
      if (isMarked(failed.line) || !isSameFolder(folder, failed.folder)) return failed;
      const parts = this.#commandsOf(failed.key).map((part) => checkedPart(passed, part, failed.line));
      const part = parts.find((name) => name !== undefined);
      if (part === undefined) return failed;
      this.#addClosed(failed, part);
      return { ...failed, line: `${failed.line} ${fixedMark(this.#turn)}` };
    });
    this.outcomes = { ...this.outcomes, failing };
  }

  #addClosed(failed: FailedCommand, part?: string): void {
    if (isMarked(failed.line)) return;
    const until = this.#passedAfter.get(failed.entryId ?? "") ?? this.#at;
    this.closed.push({ failed, part, until, turn: this.#turn });
  }

  /** Removes parts from the failed commands of a folder. */
  #close(isClosed: (part: Command) => boolean, folder: string | undefined, closes = true): void {
    const failing = this.outcomes.failing.flatMap((failed): FailedCommand[] => {
      const parts = this.#commandsOf(failed.key);
      if (!parts.some(isClosed) || !isSameFolder(folder, failed.folder)) return [failed];
      const left = parts.filter((part) => !isClosed(part));
      if (closes && left.length === 0) this.#addClosed(failed);
      // The quoted line may belong to a removed part.
      return left.length === 0 ? [] : [{ ...failed, key: left.map(keyOf).join(" && "), line: "" }];
    });
    this.outcomes = { ...this.outcomes, failing };
  }

  #commandsOf(key: string): readonly Command[] {
    const known = this.#read.get(key) ?? readCommands(key)[0]?.commands ?? [];
    this.#read.set(key, known);
    return known;
  }

  #failed(commands: readonly Command[], result: RunResult, entryId: string | undefined): void {
    const line = failureLine(result, commands.map(keyOf).join(" "));
    if (!this.adds || commands.length === 0 || (line === undefined && !result.hasExitCode)) return;
    this.#addFailed(commands, { line: line ?? "", entryId });
  }

  #addFailed(commands: readonly Command[], how: Omit<FailedCommand, "key" | "folder">): void {
    const keys = new Set(commands.map(keyOf));
    const { folder } = commands.at(-1)!;
    // The newest failure of a part replaces an older one, also one of another chain.
    this.#close((part) => keys.has(keyOf(part)), folder, false);
    const failed = { key: clippedLine([...keys].join(" && "), MAX_KEY_CHARS), folder, ...how };
    const failing = [...this.outcomes.failing, failed].slice(-MAX_KEPT.failing);
    this.outcomes = { ...this.outcomes, failing };
  }

  #did(text: string, line: string | undefined, entryId: string | undefined): void {
    if (!this.adds) return;
    const command = clippedLine(text, MAX_IRREVERSIBLE_CHARS);
    const result = line === undefined ? undefined : clippedLine(line, MAX_IRREVERSIBLE_CHARS);
    const before = this.outcomes.irreversible.find((done) => done.command === command);
    const others = this.outcomes.irreversible.filter((done) => done !== before);
    const all = [...others, { command, times: (before?.times ?? 0) + 1, entryId, result }];
    this.outcomes = { ...this.outcomes, irreversible: all.slice(-MAX_KEPT.irreversible) };
  }
}

/** A longer output is a report. */
const MAX_RESULT_LINES = 4;

/** The line of a short output that names one argument of the command and one new name: the command created it. */
function madeLine(lines: readonly string[], written: string): string | undefined {
  const own = lines.filter((line) => !EXIT_LINE.test(line));
  if (own.length > MAX_RESULT_LINES) return undefined;
  const given = contentWords(written);
  return own.find((line) => {
    const isNew = [...termsIn(line)].some((term) => !isMeasure(term) && !written.includes(term));
    return isNew && [...contentWords(line)].some((word) => given.has(word));
  });
}

/** The arguments of a call of a tool, on one line. */
function callText({ name, arguments: fields }: ToolCall): string {
  return [name, ...textsIn(fields)].join(" ");
}

function keyOf({ text }: Pick<Command, "text">): string {
  return clippedLine(text, MAX_KEY_CHARS);
}

function isSameFolder(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}

export type Outcome = Outcomes[keyof Outcomes][number];

/** The line of an outcome in a summary. */
export function outcomeLine(outcome: Outcome, maxChars = Number.POSITIVE_INFINITY): string {
  return `- ${outcomeText(outcome, maxChars)}`;
}

function outcomeText(outcome: Outcome, maxChars: number): string {
  const clip = (text: string) => (text.length <= maxChars ? text : clippedLine(text, maxChars));
  if ("text" in outcome) return `[ ] ${clip(outcome.text)}`;
  if ("times" in outcome) {
    const times = outcome.times > 1 ? ` (${outcome.times} times)` : "";
    return `\`${clip(outcome.command)}\`${times}${outcome.result === undefined ? "" : `: ${clip(outcome.result)}`}`;
  }
  if (outcome.isRefused) return `The user refused: \`${clip(outcome.key)}\``;
  return `\`${clip(outcome.key)}\`${outcome.line === "" ? "" : `: ${clip(outcome.line)}`}`;
}

/** Maximum lengths for the parts of a line. The first length at which all outcomes fit is used. */
const LINE_CHARS = [Number.POSITIVE_INFINITY, 140, 90, 60];

/** The lines of the outcomes that fit into `maxTokens`. Shortens all lines before it drops the oldest. */
export function outcomeLines(outcomes: readonly Outcome[], maxTokens: number): string[] {
  let lines: string[] = [];
  for (const chars of LINE_CHARS) {
    lines = outcomes.map((outcome) => outcomeLine(outcome, chars));
    if (linesTokens(lines) <= maxTokens) return lines;
  }
  return newestLines(lines, maxTokens);
}

export function linesTokens(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + estimateTokens(line) + 1, 0);
}

/** The newest lines that fit into `maxTokens`. Skips a line that is too long for the rest. */
export function newestLines(lines: readonly string[], maxTokens: number): string[] {
  let left = maxTokens;
  const fits = (line: string) => {
    const tokens = estimateTokens(line) + 1;
    if (tokens > left) return false;
    left -= tokens;
    return true;
  };
  return lines.toReversed().filter(fits).toReversed();
}

/** A finished shell command that a tool or the user ran. */
export interface CommandRun {
  /** On one line, without a leading `cd`, at most 400 characters long. */
  command: string;
  /** The folder in which the command ran, if a `cd` in it names one. */
  folder?: string | undefined;
  state: RunResult["state"];
  /** True if the command only looked or moved files. */
  isLookup: boolean;
  /** The decisive line of a failure, if there is one. */
  line?: string | undefined;
  /** The entry of its result. */
  entryId?: string | undefined;
}

const MAX_COMMAND_CHARS = 400;
/** `cd packages/tui && ` */
const FOLDER_CHANGE = /^\s{0,9}cd\s{1,9}(?:"[^"\n]*"|'[^'\n]*'|[^\s;&|]+)\s{0,9}(?:&&|;)\s{0,9}(?=\S)/;

/** The commands that tools and the user ran, in order. Skips calls without a result among the messages. */
export function commandRuns(messages: readonly SourceMessage[]): CommandRun[] {
  const calls = new CallPairs();
  return messages.flatMap(({ message, entryId }) => {
    const written = commandIn(message, calls.add(message)?.call);
    return written === undefined ? [] : [commandRun(written, resultOf({ ...message }), entryId)];
  });
}

function commandRun(written: string, result: RunResult, entryId: string | undefined): CommandRun {
  const groups = readCommands(written);
  const isFailed = groupStates(groups, result).some(([, state]) => state === "failed");
  const state = isFailed && result.state !== "aborted" ? "failed" : result.state;
  const line = state === "failed" ? failureLine(result, written) : undefined;
  const folder = groups.at(-1)?.commands.at(-1)?.folder;
  return {
    command: clippedLine(written.replace(FOLDER_CHANGE, ""), MAX_COMMAND_CHARS),
    ...(folder !== undefined && { folder }),
    state,
    isLookup: !groups.some(({ commands }) => commands.some(counts)),
    ...(line !== undefined && { line }),
    entryId,
  };
}

/**
 * The shell command that a message is the result of. Only the arguments of its call decide: each agent names its tools
 * differently.
 */
function commandIn(message: Message, call: ToolCall | undefined): string | undefined {
  return writtenCommand(message?.role === "bashExecution" ? { ...message } : { ...call?.arguments });
}

/** False for a lookup, unless it is irreversible. */
const counts = (command: Command): boolean => !command.isLookup || isIrreversible(command);
const checks = ({ commands }: CommandGroup): boolean => commands.some(({ isCheck }) => isCheck);

/** A search for error messages: if it finds none, that is a success. */
const SEEKS_ERRORS = /grep.*(?:err|fail|warn|fatal|TS\d)/i;

/** The state of each group; undefined if unknown, because the result has only the exit code of the last group. */
function groupStates(
  all: readonly CommandGroup[],
  result: RunResult,
): Array<[CommandGroup, RunResult["state"] | undefined]> {
  // `cargo test; echo $?` prints the exit code of the group before it.
  const groups = all.filter(({ commands: [first] }) => !/^echo .*\$\?/.test(first?.text.slice(0, 200) ?? ""));
  const last = groups.at(-1);
  // A lookup at the end of a pipe, or a fallback, replaces the exit code of the command that matters.
  const isSeen =
    last?.hasFallback === false && !last.commands.some(({ isPiped, isLookup }) => isPiped && isLookup);
  const isLastToBlame = isSeen && result.state === "failed" && last.commands.some(counts);
  const isBad = !isLastToBlame && reportsFailure(result.lines);
  const hasCheck = groups.some(checks);
  return groups.map((group) => {
    if (group === last && isSeen) return [group, result.state];
    if (isLastToBlame) return [group, undefined];
    if (isBad && checks(group) === hasCheck) return [group, "failed"];
    const search = group.commands.find(({ isPiped, text }) => isPiped && /^(?:[ef]?grep|rg|wc)\b/.test(text));
    if (search === undefined) return [group, group === last ? result.state : "passed"];
    return [group, SEEKS_ERRORS.test(search.text) ? "passed" : undefined];
  });
}
