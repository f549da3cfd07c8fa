import { contentText, type ToolCall } from "@bonsai-agent/messages";
import { recalledIds } from "@bonsai-agent/messages/host";
import { CallPairs, commandIn, counts, groupStates } from "./command-runs.ts";
import { type Command, covers, readCommands } from "./commands.ts";
import { isIrreversible } from "./irreversible.ts";
import { clipped, decisiveLine, type RunResult, resultOf } from "./run-result.ts";
import type { SourceMessage } from "./source.ts";
import { afterTodos, boxesOf, type ListedTodo, listOf, type Todo } from "./todos.ts";

export type { Todo };

/** A command whose last run failed. */
export interface FailedCommand {
  /** The command, or what did not pass since of a chain (`a && b`): without directory changes, redirections, filters and time limits. */
  key: string;
  /** The decisive line of its output; empty where there is none. */
  line: string;
  /** Of the failed result. */
  entryId?: string | undefined;
  /** Where it ran, if the command says so. */
  folder?: string | undefined;
}

/** Something that was done and cannot be taken back: a push, a tag, a release, a deletion, a migration. */
export interface IrreversibleCommand {
  command: string;
  /** How often. */
  times: number;
  /** Of the last time. */
  entryId?: string | undefined;
}

/** What the commands and to-do lists of a span came to: data that a later span goes on from. Each oldest first. */
export interface Outcomes {
  failing: readonly FailedCommand[];
  irreversible: readonly IrreversibleCommand[];
  openTodos: readonly Todo[];
}

export const noOutcomes: Outcomes = { failing: [], irreversible: [], openTodos: [] };

/** The oldest leave first. */
const most = { failing: 40, irreversible: 60 };
const maxCommandChars = 160;
const maxKeyChars = 400;

/**
 * The outcomes after some more messages. A call and its result belong in the same span, as every cut has it.
 * @param following what comes after them and is not part of the span: it mends and ticks off, but adds nothing
 */
export function outcomesAfter(
  earlier: Outcomes,
  messages: readonly SourceMessage[],
  following: readonly SourceMessage[] = [],
): Outcomes {
  const ledger = new Ledger(earlier);
  for (const message of messages) ledger.read(message);
  ledger.adds = false;
  for (const message of following) ledger.read(message);
  return ledger.outcomes;
}

class Ledger {
  adds = true;
  outcomes: Outcomes;
  readonly #calls = new CallPairs();
  /** Keys, read again. */
  readonly #read = new Map<string, readonly Command[]>();

  constructor(earlier: Outcomes) {
    this.outcomes = earlier;
  }

  read({ message, entryId }: SourceMessage): void {
    const role = message?.role;
    const call = this.#calls.callOf(message);
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
    const key = clipped([...new Set(commands.map(keyOf))].join(" && "), maxKeyChars);
    const { folder } = commands.at(-1)!;
    const others = this.outcomes.failing.filter((failed) => failed.key !== key || failed.folder !== folder);
    const failing = [...others, { key, line: line ?? "", entryId, folder }].slice(-most.failing);
    this.outcomes = { ...this.outcomes, failing };
  }

  #did(text: string, entryId: string | undefined): void {
    if (!this.adds) return;
    const command = clipped(text, maxCommandChars);
    const before = this.outcomes.irreversible.find((done) => done.command === command);
    const others = this.outcomes.irreversible.filter((done) => done !== before);
    const all = [...others, { command, times: (before?.times ?? 0) + 1, entryId }];
    this.outcomes = { ...this.outcomes, irreversible: all.slice(-most.irreversible) };
  }
}

function keyOf({ text }: Pick<Command, "text">): string {
  return clipped(text, maxKeyChars);
}

function isSameFolder(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}
