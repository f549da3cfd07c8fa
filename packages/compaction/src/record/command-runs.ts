import { callsIn, type Message, type ToolCall } from "@bonsai-agent/messages";
import { type Command, type CommandGroup, readCommands } from "./commands.ts";
import { isIrreversible } from "./irreversible.ts";
import { clipped, decisiveLine, type RunResult, resultOf, saysFailed } from "./run-result.ts";
import type { SourceMessage } from "./source.ts";

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
    const call = calls.callOf(message);
    const isByHand = message?.role === "bashExecution";
    const written = isByHand ? message.command : call && commandIn(call.arguments);
    return typeof written === "string" ? [commandRun(written, resultOf({ ...message }), entryId)] : [];
  });
}

function commandRun(written: string, result: RunResult, entryId: string | undefined): CommandRun {
  const groups = readCommands(written);
  const isFailed = groupStates(groups, result).some(([, state]) => state === "failed");
  const state = result.state === "aborted" ? "aborted" : isFailed ? "failed" : result.state;
  const line = state === "failed" ? decisiveLine(result) : undefined;
  const isLookup = !groups.some(({ commands }) => commands.some(counts));
  const command = clipped(written.replace(FOLDER_CHANGE, ""), MAX_COMMAND_CHARS);
  const folder = groups.at(-1)?.commands.at(-1)?.folder;
  const where = folder === undefined ? {} : { folder };
  return { command, ...where, state, isLookup, ...(line !== undefined && { line }), entryId };
}

/** Finds the call of each result. Reads the messages in their order. */
export class CallPairs {
  readonly #calls = new Map<string, ToolCall>();

  /** The call of a result; undefined for an unknown call and for any other message. */
  callOf(message: Message): ToolCall | undefined {
    if (message?.role === "assistant") for (const call of callsIn(message)) this.#calls.set(call.id, call);
    return message?.role === "toolResult" ? this.#calls.get(message.toolCallId) : undefined;
  }
}

/** The shell command in a call's arguments. Only the arguments decide: each agent names its tools differently. */
export function commandIn(fields: Readonly<Record<string, unknown>>): string | undefined {
  // Some edit tools have a `path`, and a `command` that names the edit.
  if ("path" in fields) return undefined;
  const values = ["command", "cmd", "script", "shell_command", "CommandLine"].map((field) => fields[field]);
  const value = values.find((one) => typeof one === "string" || Array.isArray(one));
  if (!Array.isArray(value)) return value as string | undefined;
  return /(?:^|\/)(?:ba|z)?sh$/.test(String(value[0])) ? String(value.at(-1)) : value.join(" ");
}

/** False for a lookup, unless it is irreversible. */
export const counts = (command: Command): boolean => !command.isLookup || isIrreversible(command);
const checks = ({ commands }: CommandGroup<Command>): boolean => commands.some(({ isCheck }) => isCheck);

/** A search for error messages: if it finds none, that is a success. */
const SEEKS_ERRORS = /grep.*(?:err|fail|warn|fatal|TS\d)/i;

/** The state of each group; undefined if unknown, because the result has only the exit code of the last group. */
export function groupStates(
  all: readonly CommandGroup<Command>[],
  result: RunResult,
): Array<[CommandGroup<Command>, RunResult["state"] | undefined]> {
  // `cargo test; echo $?` prints the exit code of the group before it.
  const groups = all.filter(({ commands: [first] }) => !/^echo .*\$\?/.test(first?.text.slice(0, 200) ?? ""));
  const last = groups.at(-1);
  // A lookup at the end of a pipe, or a fallback, replaces the exit code of the command that matters.
  const isSeen =
    last?.hasFallback === false && !last.commands.some(({ isPiped, isLookup }) => isPiped && isLookup);
  const isLastToBlame = isSeen && result.state === "failed" && last.commands.some(counts);
  const isBad = !isLastToBlame && saysFailed(result.lines);
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
