import { setTimeout as delay } from "node:timers/promises";
import { BonsaiError, isRecord, jsonText } from "@bonsai-agent/messages";
import { jsonDepthProblem } from "@bonsai-agent/messages/host";
import { count } from "@bonsai-agent/messages/numbers";
import { z } from "zod";
import { errorJson } from "../call/event-json.ts";
import type { LineIn } from "../call/json-lines.ts";
import { didYouMean } from "../views/nearest-word.ts";
import { overlapping, rpcHandlers, stopping } from "./commands.ts";
import {
  type RpcCommandName,
  type RpcId,
  type RpcResponse,
  rpcCommands,
  type UiResponse,
  uiResponse,
} from "./protocol.ts";
import type { RpcWork } from "./runs.ts";

interface DispatcherOptions {
  work: RpcWork;
  /** Receives the answer to a question. Answers have no response. */
  answer: (answer: UiResponse) => void;
  /** Resolves when a question waits for its answer. */
  questionWaits: () => Promise<void>;
  respond: (response: RpcResponse) => Promise<void>;
  /** Called after each successful response. */
  onAnswer: () => Promise<void>;
}

/** Lines that are read ahead, so that `abort` is seen behind a long command. */
const MAX_QUEUED = 64;

/** A stopping command waits this long for its turn. */
const MAX_TURN_WAIT_MS = 500;

/**
 * Answers each command once and starts commands in order. Answers to questions overtake them, because a command may wait
 * for one. Stopping commands overtake them if their turn does not come.
 */
export class RpcDispatcher {
  readonly #options: DispatcherOptions;
  #last: Promise<void>;
  #waiting = 0;

  /** @param ready the first command waits for this */
  constructor(options: DispatcherOptions, ready: Promise<void>) {
    this.#options = options;
    this.#last = ready;
  }

  /** True while no more lines should be read. */
  get isFull(): boolean {
    return this.#waiting >= MAX_QUEUED;
  }

  /** Resolves when the next command may begin. Rejects if `ready` does. */
  receive(line: LineIn): Promise<void> {
    if ("text" in line && line.text.trim() === "") return this.#last;
    const read = readLine(line);
    if ("answer" in read) this.#options.answer(read.answer);
    else this.#enqueue(read);
    return this.#last;
  }

  #enqueue(read: ReadCommand | UnreadableCommand): void {
    if ("name" in read && stopping.has(read.name)) {
      this.#stop(read);
      return;
    }
    this.#waiting++;
    this.#last = this.#last.then(() => {
      this.#waiting--;
      return this.#take(read);
    });
  }

  /** Runs in its turn, and earlier if that does not come. Only the first run answers. */
  #stop(read: ReadCommand): void {
    let isAnswered = false;
    const stop = () => {
      if (isAnswered) return this.#run(read).then(() => {});
      isAnswered = true;
      return this.#answer(read);
    };
    const before = this.#last;
    this.#last = before.then(stop);
    const blocked = [this.#options.questionWaits(), delay(MAX_TURN_WAIT_MS, undefined, { ref: false })];
    Promise.race([before, ...blocked]).then(
      () => (isAnswered ? undefined : stop()),
      // The command that waits for its turn gets the error.
      () => {},
    );
  }

  async #take(read: ReadCommand | UnreadableCommand): Promise<void> {
    // Commands after `shutdown` do not begin.
    if (this.#options.work.stopped.aborted) return;
    if ("error" in read) return this.#refuse(read, read.command, read.error);
    const answering = this.#answer(read);
    if (overlapping.has(read.name)) void this.#options.work.runs.track(answering);
    else await answering;
  }

  async #run({ id, name, params }: ReadCommand): Promise<unknown> {
    return rpcHandlers[name](this.#options.work, params as never, id);
  }

  async #answer(read: ReadCommand): Promise<void> {
    const { id, name } = read;
    const { respond, onAnswer } = this.#options;
    try {
      const data = (await this.#run(read)) as never;
      await respond({ id, type: "response", command: name, success: true, data });
      await onAnswer();
    } catch (error) {
      await this.#refuse(read, name, error);
    }
  }

  #refuse({ id }: Pick<ReadCommand, "id">, command: string | null, thrown: unknown): Promise<void> {
    const { code, message, hint } = errorJson(thrown);
    const error = `${message} ${hint}`;
    return this.#options.respond({ id, type: "response", command, success: false, error, code });
  }
}

interface ReadCommand {
  id: RpcId | undefined;
  name: RpcCommandName;
  params: unknown;
}

/** A line that is no valid command. */
interface UnreadableCommand {
  id: RpcId | undefined;
  command: string | null;
  error: BonsaiError;
}

/** Reads one line. Never throws. */
function readLine(line: LineIn): ReadCommand | UnreadableCommand | { answer: UiResponse } {
  const unread = { id: undefined, command: null };
  if ("tooLong" in line) return { ...unread, error: tooLong(line.tooLong) };
  const value = parsed(line.text);
  if (BonsaiError.is(value)) return { ...unread, error: value };
  if (value.type === "extension_ui_response") return readAnswer(value);
  const { id: anyId, type, ...fields } = value;
  const id = typeof anyId === "string" || typeof anyId === "number" ? anyId : undefined;
  const command = typeof type === "string" ? type : null;
  const named = { id, command };
  if (anyId !== undefined && id === undefined)
    return { ...named, error: invalid(`id must be a string or a number, not ${jsonText(anyId)}`) };
  const tooDeep = jsonDepthProblem(value);
  if (tooDeep !== undefined) return { ...named, error: invalid(`its JSON is ${tooDeep}`) };
  if (command === null || !isCommand(command))
    return { ...named, error: unknownCommand(type, Object.keys(rpcCommands)) };
  const checked = z.strictObject(rpcCommands[command]).safeParse(fields);
  if (!checked.success) return { ...named, error: invalid(`${command}: ${problems(checked.error)}`) };
  return { id, name: command, params: checked.data };
}

function isCommand(name: string): name is RpcCommandName {
  return Object.hasOwn(rpcCommands, name);
}

function readAnswer(value: Record<string, unknown>): { answer: UiResponse } | UnreadableCommand {
  const command = "extension_ui_response";
  const checked = uiResponse.safeParse(value);
  if (checked.success) return { answer: checked.data };
  const id = typeof value.id === "string" ? value.id : undefined;
  return { id, command, error: invalid(`${command}: ${problems(checked.error)}`) };
}

function parsed(text: string): Record<string, unknown> | BonsaiError {
  try {
    // Some shells begin what they pipe with a byte-order mark.
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (isRecord(value)) return value as Record<string, unknown>;
    return notJson(`it is ${Array.isArray(value) ? "a list" : JSON.stringify(value)}`);
  } catch (error) {
    return notJson((error as Error).message);
  }
}

function problems(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`))
    .join("; ");
}

function notJson(problem: string): BonsaiError {
  return new BonsaiError({
    code: "rpc_line_unreadable",
    message: `The line is not a JSON object: ${problem}.`,
    hint: 'Send one JSON object per line, like {"id":1,"type":"get_state"}.',
  });
}

function tooLong(bytes: number): BonsaiError {
  return new BonsaiError({
    code: "rpc_line_unreadable",
    message: `Skipped a line of ${count(bytes)} bytes: it is too long.`,
    hint: "Send shorter lines: use smaller images, or the path of a file.",
  });
}

function unknownCommand(type: unknown, names: readonly string[]): BonsaiError {
  return new BonsaiError({
    /** The line names a command that does not exist, or none. */
    code: "rpc_command_unknown",
    message:
      type === undefined
        ? "The command has no type."
        : `Unknown command ${jsonText(type)}.${didYouMean(type, names)}`,
    hint: `Commands: ${names.join(", ")}.`,
  });
}

function invalid(problem: string): BonsaiError {
  return new BonsaiError({
    code: "rpc_command_invalid",
    message: `Invalid command: ${problem}.`,
    hint: "Correct the field. docs/reference/rpc.md lists the fields of each command.",
  });
}
