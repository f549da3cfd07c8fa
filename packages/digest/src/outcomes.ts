import { contentText, type ToolCall, type ToolResultMessage, toolCalls } from "@bonsai-agent/messages";
import { programOf, textOf } from "./command-words.ts";
import { type Command, readCommands } from "./commands.ts";
import { afterPass, type FailedCommand, failedCommand } from "./failing.ts";
import { clipped, type RunResult, resultOf, saysFailed, userResult } from "./run-result.ts";
import type { CommandGroup } from "./shell.ts";
import type { SourceMessage } from "./source.ts";
import { afterBoxes, afterList, boxesOf, listOf, type Todo } from "./todos.ts";
import { actOf, changedPathIn, commandIn } from "./tool-acts.ts";

export type { FailedCommand, Todo };

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
  #failing: readonly FailedCommand[];
  #irreversible: readonly IrreversibleCommand[];
  #openTodos: readonly Todo[];
  readonly #calls = new Map<string, ToolCall>();

  constructor({ failing, irreversible, openTodos }: Outcomes) {
    this.#failing = failing;
    this.#irreversible = irreversible;
    this.#openTodos = openTodos;
  }

  get outcomes(): Outcomes {
    return { failing: this.#failing, irreversible: this.#irreversible, openTodos: this.#openTodos };
  }

  read({ message, entryId }: SourceMessage): void {
    const role = message?.role;
    if (role === "assistant") for (const call of toolCalls(message)) this.#calls.set(call.id, call);
    if (role === "assistant" || role === "user") {
      const boxes = boxesOf(contentText(message.content));
      this.#openTodos = afterBoxes(this.#openTodos, boxes, { entryId, adds: this.adds });
    } else if (role === "bashExecution" && typeof message.command === "string")
      this.#ran(message.command, userResult(message), entryId);
    else if (role === "toolResult") {
      const call = this.#calls.get(message.toolCallId);
      if (call !== undefined) this.#called(call, message, entryId);
    }
  }

  #called(call: ToolCall, message: ToolResultMessage, entryId: string | undefined): void {
    const command = commandIn(call.arguments);
    const path = changedPathIn(call.arguments, command);
    if (path !== undefined) this.#changed(call.name, path, resultOf(message), entryId);
    else if (command !== undefined) this.#ran(command, resultOf(message), entryId);
    else if (message.isError !== true) {
      const isKnown = this.#openTodos.some(({ tool }) => tool === call.name);
      const list = listOf(call.arguments, isKnown) ?? listOf(message.details, isKnown);
      if (list === undefined) this.#did(actOf(call), entryId);
      else this.#openTodos = afterList(this.#openTodos, list, { tool: call.name, entryId, adds: this.adds });
    }
  }

  /** A tool was to write or edit a file. */
  #changed(tool: string, path: string, result: RunResult, entryId: string | undefined): void {
    if (result.state === "aborted") return;
    this.#failing = this.#failing.filter((failed) => failed.path !== path);
    if (result.state === "failed")
      this.#fail({ key: `${tool} ${path}`, line: result.line() ?? result.lines[0] ?? "", path, entryId });
  }

  #ran(written: string, result: RunResult, entryId: string | undefined): void {
    const groups = readCommands(written);
    if (result.state === "aborted") return;
    const stateOf = groupStates(groups, result);
    for (const group of groups) {
      const commands = group.commands.filter(({ kind }) => kind !== "look" && kind !== "plumbing");
      const state = stateOf(group);
      if (state === "passed") this.#passed(group.commands, entryId);
      else if (state === "failed" && commands.length > 0) this.#failed(commands, result, entryId);
    }
    if (result.state === "passed")
      this.#failing = this.#failing.filter(({ path }) => path === undefined || !written.includes(path));
  }

  #passed(commands: readonly Command[], entryId: string | undefined): void {
    const sure = commands.filter(({ isFallback }) => !isFallback);
    this.#failing = this.#failing.flatMap((failed) => afterPass(failed, sure));
    for (const command of sure) if (command.kind === "act") this.#did(textOf(command), entryId);
  }

  #failed(commands: readonly Command[], result: RunResult, entryId: string | undefined): void {
    const line = result.line();
    // A test run without any line may have failed; without an exit code either, it was refused.
    const isTold =
      line !== undefined || (result.hasExitCode && commands.some(({ kind }) => kind === "judge"));
    if (isTold) this.#fail({ ...failedCommand(commands), line: line ?? "", entryId });
    // What git did not complain of was done, before the rest of the chain failed.
    if (commands.length > 1 && !result.lines.some((text) => GIT_FAILS.test(text)))
      for (const command of commands.slice(0, -1))
        if (command.kind === "act" && programOf(command) === "git") this.#did(textOf(command), entryId);
  }

  #fail({ entryId, ...failed }: FailedCommand): void {
    if (!this.adds) return;
    const others = this.#failing.filter(({ key, folder }) => key !== failed.key || folder !== failed.folder);
    this.#failing = [...others, { ...failed, ...(entryId !== undefined && { entryId }) }].slice(
      -most.failing,
    );
  }

  #did(text: string | undefined, entryId: string | undefined): void {
    if (text === undefined || !this.adds) return;
    const command = clipped(text, maxCommandChars);
    const before = this.#irreversible.find((done) => done.command === command);
    const others = this.#irreversible.filter((done) => done !== before);
    const times = (before?.times ?? 0) + 1;
    const all = [...others, { command, times, ...(entryId !== undefined && { entryId }) }];
    this.#irreversible = all.slice(-most.irreversible);
  }
}

const GIT_FAILS = /^(?:fatal|error): |^! \[/;
/** Searches for what errors look like: nothing found is good news. */
const SEEKS_ERRORS = /err|fail|warn|fatal|TS\d/i;

/** What came of each group; undefined where nothing tells. Only the exit code of the last one is seen. */
function groupStates(
  groups: readonly CommandGroup<Command>[],
  { state, lines }: RunResult,
): (group: CommandGroup<Command>) => RunResult["state"] | undefined {
  const last = groups.at(-1);
  const isLastToBlame =
    state === "failed" && last?.isExitHidden === false && last.commands.some(({ kind }) => kind !== "look");
  const hasJudge = groups.some(judges);
  const isBad = groups.some((group) => group !== last || group.isExitHidden) && saysFailed(lines);
  return (group) => {
    if (group === last && !group.isExitHidden) return state;
    if (isLastToBlame) return judges(group) ? undefined : "passed";
    if (isBad && judges(group) === hasJudge) return "failed";
    const filter = group.commands.find(
      ({ kind, pipedTo }) => pipedTo !== undefined && kind !== "look",
    )?.pipedTo;
    const isSearched = filter !== undefined && /^(?:[ef]?grep|rg|ag|wc)$/.test(filter.words[0]!);
    if (!isSearched) return group === last ? state : "passed";
    return SEEKS_ERRORS.test(textOf(filter)) && filter.words[0] !== "wc" ? "passed" : undefined;
  };
}

function judges({ commands }: CommandGroup<Command>): boolean {
  return commands.some(({ kind }) => kind === "judge");
}
