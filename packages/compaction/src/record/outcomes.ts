import { contentText, estimateTokens, isRecord, type ToolCall, textHead } from "@bonsai-agent/messages";
import { CallPairs, recalledIds } from "@bonsai-agent/messages/host";
import type { FailedCommand, IrreversibleCommand, Outcomes, Todo } from "../details.ts";
import {
  clipped,
  commandIn,
  counts,
  decisiveLine,
  groupStates,
  type RunResult,
  resultOf,
} from "./command-runs.ts";
import { type Command, covers, readCommands } from "./commands.ts";
import { isIrreversible } from "./irreversible.ts";
import { normalForm } from "./sentence.ts";
import { address, type SourceMessage } from "./statements.ts";

/** Maximum length of each list; the oldest are dropped first. */
const MAX_KEPT = { failing: 40, irreversible: 60 };
const MAX_COMMAND_CHARS = 160;
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
  const tracker = new OutcomeTracker(earlier);
  for (const message of messages) tracker.read(message);
  tracker.adds = false;
  for (const message of following) tracker.read(message);
  return tracker.outcomes;
}

class OutcomeTracker {
  adds = true;
  outcomes: Outcomes;
  readonly #calls = new CallPairs();
  /** The parsed commands of each key. */
  readonly #read = new Map<string, readonly Command[]>();

  constructor(earlier: Outcomes) {
    this.outcomes = earlier;
  }

  read({ message, entryId }: SourceMessage): void {
    const role = message?.role;
    const call = this.#calls.add(message)?.call;
    if (role === "assistant" || role === "user")
      this.#listed(boxesOf(contentText(message.content)), undefined, entryId);
    else if (role === "bashExecution" && typeof message.command === "string")
      this.#ran(message.command, resultOf({ ...message }), entryId);
    else if (call !== undefined && message !== undefined && recalledIds(message) === undefined)
      this.#called(call, { ...message }, entryId);
  }

  #called(call: ToolCall, message: Record<string, unknown>, entryId: string | undefined): void {
    const command = commandIn(call.arguments);
    const isKnown = this.outcomes.openTodos.some(({ tool }) => tool === call.name);
    const list = listOf(call.arguments, isKnown) ?? listOf(message.details, isKnown);
    if (command !== undefined) this.#ran(command, resultOf(message), entryId);
    else if (message.isError !== true && list !== undefined) this.#listed(list, call.name, entryId);
  }

  #listed(list: readonly ListedTodo[], tool: string | undefined, entryId: string | undefined): void {
    if (list.length === 0 && tool === undefined) return;
    const openTodos = afterTodos(this.outcomes.openTodos, list, { adds: this.adds, tool, entryId });
    this.outcomes = { ...this.outcomes, openTodos };
  }

  #ran(written: string, result: RunResult, entryId: string | undefined): void {
    if (result.state === "aborted") return;
    for (const [{ commands }, state] of groupStates(readCommands(written), result)) {
      if (state === "failed") this.#failed(commands.filter(counts), result, entryId);
      else
        for (const command of commands) {
          if (state === "passed") this.#passed(command);
          if (isIrreversible(command)) this.#did(command.text, entryId);
        }
    }
  }

  #passed({ folder, ...passed }: Command): void {
    const key = keyOf(passed);
    const [again] = this.#commandsOf(key);
    if (again === undefined) return;
    const failing = this.outcomes.failing.flatMap((failed): FailedCommand[] => {
      const parts = this.#commandsOf(failed.key);
      const left = isSameFolder(folder, failed.folder) ? parts.filter((part) => !covers(again, part)) : parts;
      if (left.length === parts.length) return [failed];
      return left.length === 0 ? [] : [{ ...failed, key: left.map(keyOf).join(" && ") }];
    });
    this.outcomes = { ...this.outcomes, failing };
  }

  #commandsOf(key: string): readonly Command[] {
    const known = this.#read.get(key) ?? readCommands(key)[0]?.commands ?? [];
    this.#read.set(key, known);
    return known;
  }

  #failed(commands: readonly Command[], result: RunResult, entryId: string | undefined): void {
    const line = decisiveLine(result);
    if (!this.adds || commands.length === 0 || (line === undefined && !result.hasExitCode)) return;
    const key = clipped([...new Set(commands.map(keyOf))].join(" && "), MAX_KEY_CHARS);
    const { folder } = commands.at(-1)!;
    const others = this.outcomes.failing.filter((failed) => failed.key !== key || failed.folder !== folder);
    const failing = [...others, { key, line: line ?? "", entryId, folder }].slice(-MAX_KEPT.failing);
    this.outcomes = { ...this.outcomes, failing };
  }

  #did(text: string, entryId: string | undefined): void {
    if (!this.adds) return;
    const command = clipped(text, MAX_COMMAND_CHARS);
    const before = this.outcomes.irreversible.find((done) => done.command === command);
    const others = this.outcomes.irreversible.filter((done) => done !== before);
    const all = [...others, { command, times: (before?.times ?? 0) + 1, entryId }];
    this.outcomes = { ...this.outcomes, irreversible: all.slice(-MAX_KEPT.irreversible) };
  }
}

function keyOf({ text }: Pick<Command, "text">): string {
  return clipped(text, MAX_KEY_CHARS);
}

function isSameFolder(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}

export interface ListedTodo {
  text: string;
  isDone: boolean;
}

const MAX_TODO_CHARS = 240;
/** Maximum number of open to-dos; the oldest are dropped first. */
const MAX_TODOS = 60;
/** Maximum length of one list. */
const MAX_ITEMS = 300;
const TEXTS = ["content", "text", "step", "title", "task", "subject", "description", "name"];
const STATES = ["status", "state", "done", "completed", "checked"];
const DONE = /^(?:completed?|done|finished|closed|cancell?ed|skipped|resolved|deleted|removed|true)$/i;

/**
 * Finds a to-do list in a tool's arguments or details, by its shape: records with a text and a state.
 * @param isKnown true if the tool has a list already: an empty list then counts
 */
export function listOf(fields: unknown, isKnown: boolean): ListedTodo[] | undefined {
  for (const list of Object.values(isRecord(fields) ? fields : {})) {
    if (!Array.isArray(list) || list.length > MAX_ITEMS) continue;
    const items = list.flatMap(itemOf);
    if (items.length === list.length && (isKnown || items.length > 0)) return items;
  }
  return undefined;
}

function itemOf(item: unknown): ListedTodo[] {
  const fields = isRecord(item) ? item : {};
  const text = TEXTS.map((field) => fields[field]).find((value) => typeof value === "string" && value !== "");
  const state = STATES.map((field) => fields[field]).find((value) => /^(?:str|bool)/.test(typeof value));
  if (text === undefined || state === undefined) return [];
  return [{ text: clipped(String(text), MAX_TODO_CHARS), isDone: DONE.test(String(state)) }];
}

const BOX =
  /^[ \t>]{0,12}(?:(?:[-*+•]|\d{1,3}[.)])[ \t]{1,4})?(?:\[([ xX✓✔~/-])\]|([☐☑☒✅✔✓]))[ \t]{1,4}(\S.*)$/u;

/** The check boxes of a text, in order. Ignores boxes in a code fence: they belong to a quoted document. */
export function boxesOf(text: string): ListedTodo[] {
  if (!/\[[ xX✓✔~/-]\]|[☐☑☒✅✔✓]/u.test(text)) return [];
  let isFenced = false;
  const found = text.split("\n").flatMap((line): ListedTodo[] => {
    if (line === "") return [];
    if (/^[ \t]{0,8}(?:```|~~~)/.test(line)) isFenced = !isFenced;
    const [, box, sign, task] = (isFenced ? null : BOX.exec(textHead(line, 2_000))) ?? [];
    if (task === undefined) return [];
    return [{ text: task, isDone: /[xX✓✔☑☒✅]/u.test(box ?? sign!) }];
  });
  return found.slice(-MAX_ITEMS).map(({ text, isDone }) => ({ text: clipped(text, MAX_TODO_CHARS), isDone }));
}

/**
 * The open to-dos after a list. A tool's list replaces its earlier one, unless they have no item in common: then it
 * begins other work, and both stay. Boxes in a text add and tick off.
 * @param adds false if the list only ticks off
 */
export function afterTodos(
  todos: readonly Todo[],
  list: readonly ListedTodo[],
  { adds, tool, entryId }: Omit<Todo, "text"> & { adds: boolean },
): Todo[] {
  const states = new Map(list.map(({ text, isDone }) => [normalForm(text), isDone]));
  const isDone = ({ text }: Todo) => states.get(normalForm(text));
  const own = todos.filter((todo) => tool !== undefined && todo.tool === tool);
  const goesOn = list.length === 0 || own.some((todo) => isDone(todo) !== undefined);
  const open = todos.filter(
    (todo) => isDone(todo) === false || (isDone(todo) === undefined && !(goesOn && own.includes(todo))),
  );
  const known = new Set(open.map(({ text }) => normalForm(text)));
  const added = list.filter((item) => adds && !item.isDone && !known.has(normalForm(item.text)));
  return [...open, ...added.map(({ text }) => ({ text, tool, entryId }))].slice(-MAX_TODOS);
}

/** One line for each outcome, as the digest writes it, with the outcome's entry. */
export function outcomeLines({ irreversible, failing, openTodos }: Outcomes) {
  return [
    ...irreversible.map((each) => ({ line: irreversibleLine(each), entryId: each.entryId })),
    ...failing.map((each) => ({ line: failingLine(each), entryId: each.entryId })),
    ...openTodos.map((each) => ({ line: todoLine(each), entryId: each.entryId })),
  ];
}

export function irreversibleLine({ command, times, entryId }: IrreversibleCommand): string {
  return `- \`${command}\`${times > 1 ? ` (${times} times)` : ""}${address(entryId)}`;
}

export function failingLine({ key, line, entryId }: FailedCommand): string {
  return `- \`${key}\`${line === "" ? "" : `: ${line}`}${address(entryId)}`;
}

export function todoLine({ text, entryId }: Todo): string {
  return `- [ ] ${text}${address(entryId)}`;
}

/** The newest lines that fit into `maxTokens`. */
export function newestLines(lines: readonly string[], maxTokens: number): string[] {
  let tokens = 0;
  const from = lines.findLastIndex((line) => {
    tokens += estimateTokens(line) + 1;
    return tokens > maxTokens;
  });
  return lines.slice(from + 1);
}
