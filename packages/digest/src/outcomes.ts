import { contentText, type ToolCall, toolCalls } from "@bonsai-agent/messages";
import { type Command, type ReadGroup, readCommands } from "./commands.ts";
import { afterPass, type FailedCommand, partsOfKey } from "./failing.ts";
import { clipped, decisiveLine, type RunResult, resultOf, saysFailed, userRunResult } from "./run-result.ts";
import type { SourceMessage } from "./source.ts";
import { afterBoxes, afterList, boxesOf, isEmptyList, listOf, type Todo } from "./todos.ts";
import { actOfTool, changedPath } from "./tool-acts.ts";

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
const most = { failing: 40, irreversible: 60, openTodos: 60 };
const maxCommandChars = 160;

/**
 * The outcomes after some more messages.
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
  #failing: FailedCommand[];
  #irreversible: IrreversibleCommand[];
  #openTodos: Todo[];
  readonly #calls = new Map<string, ToolCall>();

  constructor(earlier: Outcomes) {
    this.#failing = [...earlier.failing];
    this.#irreversible = [...earlier.irreversible];
    this.#openTodos = [...earlier.openTodos];
  }

  get outcomes(): Outcomes {
    return {
      failing: this.#failing.slice(-most.failing),
      irreversible: this.#irreversible.slice(-most.irreversible),
      openTodos: this.#openTodos.slice(-most.openTodos),
    };
  }

  read({ message, entryId }: SourceMessage): void {
    switch (message?.role) {
      case "assistant":
        this.#readBoxes(message, entryId);
        for (const call of toolCalls(message)) this.#calls.set(call.id, call);
        return;
      case "user":
        this.#readBoxes(message, entryId);
        return;
      case "bashExecution":
        if (typeof message.command === "string") this.#ran(message.command, userRunResult(message), entryId);
        return;
      case "toolResult": {
        const call = this.#calls.get(message.toolCallId);
        if (call !== undefined) this.#called(call, resultOf(message), message.details, entryId);
      }
    }
  }

  #readBoxes(message: { content: unknown }, entryId: string | undefined): void {
    const boxes = boxesOf(contentText(message.content));
    if (boxes.length > 0) this.#openTodos = afterBoxes(this.#openTodos, boxes, entryId, this.adds);
  }

  #called(call: ToolCall, result: RunResult, details: unknown, entryId: string | undefined): void {
    if (result.state === "aborted") return;
    const command = commandIn(call.arguments);
    const path = changedPath(call.arguments, command);
    if (path !== undefined) this.#changed(`${call.name} ${path}`, path, result, entryId);
    else if (command !== undefined) this.#ran(command, result, entryId);
    else if (result.state === "passed") this.#listedOrDid(call, details, entryId);
  }

  #listedOrDid(call: ToolCall, details: unknown, entryId: string | undefined): void {
    const list = listOf(call.arguments) ?? listOf(details);
    if (
      list !== undefined ||
      (isEmptyList(call.arguments) && this.#openTodos.some(({ tool }) => tool === call.name))
    )
      this.#openTodos = afterList(this.#openTodos, call.name, list ?? [], entryId, this.adds);
    else this.#did(actOfTool(call), entryId);
  }

  #changed(key: string, path: string, result: RunResult, entryId: string | undefined): void {
    this.#failing = this.#failing.filter(
      (failed) => !failed.key.endsWith(` ${path}`) || failed.isChange !== true,
    );
    if (result.state !== "failed" || !this.adds) return;
    const line = decisiveLine(result.lines) ?? clipped(result.lines[0] ?? "", 240);
    this.#failing.push({ key, line, isChange: true, ...(entryId !== undefined && { entryId }) });
  }

  #ran(written: string, result: RunResult, entryId: string | undefined): void {
    if (result.state === "aborted") return;
    const groups = readCommands(written);
    for (const [at, group] of groups.entries()) {
      const doing = group.commands.filter(({ kind }) => kind !== "look" && kind !== "plumbing");
      const isLast = at === groups.length - 1;
      const state = stateOf(group, doing, result, isLast);
      if (state === "passed") this.#passed(group.commands, doing, entryId);
      else if (state === "failed" && doing.length > 0) this.#failed(doing, result, entryId);
    }
    if (result.state === "passed")
      this.#failing = this.#failing.filter(
        (failed) =>
          failed.isChange !== true || !written.includes(failed.key.slice(failed.key.lastIndexOf("/") + 1)),
      );
  }

  #passed(all: readonly Command[], doing: readonly Command[], entryId: string | undefined): void {
    const sure = doing.filter(({ isFallback }) => !isFallback);
    this.#failing = this.#failing
      .map((failed) => afterPass(failed, sure))
      .filter((failed) => failed !== undefined);
    for (const command of all) {
      if (command.kind === "act" && !command.isFallback) this.#did(command.text, entryId);
    }
  }

  #failed(doing: readonly Command[], result: RunResult, entryId: string | undefined): void {
    const left = partsOfKey(doing);
    const key = clipped(left.join(" && "), 400);
    const { folder } = doing.at(-1)!;
    const line = decisiveLine(result.lines);
    if (line === undefined && !(result.hasExitCode && doing.some(({ kind }) => kind === "judge"))) return;
    if (!this.adds) return;
    this.#failing = this.#failing.filter((failed) => failed.key !== key || failed.folder !== folder);
    this.#failing.push({
      key,
      line: line ?? "",
      ...(entryId !== undefined && { entryId }),
      ...(folder !== undefined && { folder }),
      ...(left.length > 1 && { left }),
    });
  }

  #did(text: string | undefined, entryId: string | undefined): void {
    if (text === undefined || !this.adds) return;
    const command = clipped(text, maxCommandChars);
    const before = this.#irreversible.find((done) => done.command === command);
    this.#irreversible = this.#irreversible.filter((done) => done !== before);
    this.#irreversible.push({
      command,
      times: (before?.times ?? 0) + 1,
      ...(entryId !== undefined && { entryId }),
    });
  }
}

/** Searches for what errors look like: nothing found is good news. */
const LOOKS_FOR_ERRORS = /err|fail|warn|fatal|TS\d/i;

/** What came of one group; undefined where nothing tells. Only the last one's exit code is known. */
function stateOf(
  group: ReadGroup,
  doing: readonly Command[],
  result: RunResult,
  isLast: boolean,
): RunResult["state"] | undefined {
  const isHidden = group.isExitHidden || !isLast;
  if (!isHidden) return result.state;
  if (saysFailed(result.lines)) return "failed";
  const filter = doing.at(-1)?.pipedTo;
  if (filter === undefined || !/^(?:[ef]?grep|rg|ag|wc)$/.test(filter.words[0]!)) return "passed";
  return LOOKS_FOR_ERRORS.test(filter.text) && filter.words[0] !== "wc" ? "passed" : undefined;
}

/** The shell command that a tool was given, under any of the names that agents have for it. */
function commandIn(fields: Record<string, unknown>): string | undefined {
  for (const field of ["command", "cmd", "script", "shell_command", "commandLine", "CommandLine"]) {
    const value = fields[field];
    if (typeof value === "string" && value.trim() !== "") return value;
    if (!Array.isArray(value) || value.length === 0 || !value.every((part) => typeof part === "string"))
      continue;
    return /^(?:\/\w+)*\/?(?:ba|z)?sh$/.test(value[0]!) && value.length === 3 ? value[2] : value.join(" ");
  }
  return undefined;
}
