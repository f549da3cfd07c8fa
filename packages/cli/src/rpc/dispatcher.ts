import { setTimeout as delay } from "node:timers/promises";
import { BonsaiError, isRecord, jsonText } from "@bonsai-agent/messages";
import { jsonDepthProblem } from "@bonsai-agent/messages/host";
import { count } from "@bonsai-agent/messages/numbers";
import { z } from "zod";
import { errorJson } from "../call/event-json.ts";
import type { LineIn } from "../call/json-lines.ts";
import { didYouMean } from "../views/nearest-word.ts";
import { overlapping, type RpcWork, rpcHandlers } from "./commands.ts";
import { overlappingOfPi, piCommands, piHandlers, stoppingOfPi } from "./pi-commands.ts";
import {
  type RpcCommandName,
  type RpcId,
  type RpcResponse,
  rpcCommands,
  type UiResponse,
  uiResponse,
} from "./protocol.ts";

interface DispatcherOptions {
  work: RpcWork;
  /** Takes the answer to a question: none of them has a response. */
  answer: (answer: UiResponse) => void;
  /** Resolves when a question waits. */
  questionWaits: () => Promise<void>;
  respond: (response: RpcResponse) => Promise<void>;
}

/** Commands that stop things: they get through, whatever another waits for. */
const stopping: ReadonlySet<RpcCommandName> = new Set(["abort", "abort_compaction", "shutdown"]);

/** The ids that pi's client gives: what has one is answered in pi's shapes, and so are the events from then on. */
const idOfPi = /^req_\d+$/;

/** One of the two protocols: which commands there are, and what they do. */
interface Dialect {
  commands: Record<string, z.ZodRawShape>;
  handlers: Record<string, (work: RpcWork, params: never, id?: RpcId) => unknown>;
  overlapping: ReadonlySet<string>;
  stopping: ReadonlySet<string>;
  isPi: boolean;
}

const ours: Dialect = { commands: rpcCommands, handlers: rpcHandlers, overlapping, stopping, isPi: false };
const pis: Dialect = {
  commands: piCommands,
  handlers: piHandlers,
  overlapping: overlappingOfPi,
  stopping: stoppingOfPi,
  isPi: true,
};

/** What pi's client does not know is answered as ours. */
function dialectOf(id: RpcId | undefined, command: string | null): Dialect {
  const isPi = typeof id === "string" && idOfPi.test(id);
  return isPi &&
    (command === null || !Object.hasOwn(rpcCommands, command) || Object.hasOwn(piCommands, command))
    ? pis
    : ours;
}

/** Lines are read ahead up to here, so that what stops things is seen behind a command that does not end. */
const mostWaiting = 64;

/** What stops things waits so long for its turn. */
const mostWaitMs = 500;

/**
 * Answers each command once. Commands begin in the order in which they came. Answers to questions overtake them, for a
 * command may wait for one; so does what stops things where its turn does not come.
 */
export class RpcDispatcher {
  readonly #options: DispatcherOptions;
  #last: Promise<void>;
  #waiting = 0;

  /** @param ready the first command waits for it */
  constructor(options: DispatcherOptions, ready: Promise<void>) {
    this.#options = options;
    this.#last = ready;
  }

  /** True while so many commands wait that no more should be read. */
  get isFull(): boolean {
    return this.#waiting >= mostWaiting;
  }

  /** Resolves when the next command may begin; rejects with what the first waited for. */
  receive(line: LineIn): Promise<void> {
    if ("text" in line && line.text.trim() === "") return this.#last;
    const read = readLine(line);
    if ("answer" in read) this.#options.answer(read.answer);
    else this.#enqueue(read);
    return this.#last;
  }

  #enqueue(read: ReadCommand | UnreadableCommand): void {
    if (read.dialect.isPi) this.#options.work.pi.isSpeaking = true;
    if ("name" in read && read.dialect.stopping.has(read.name)) {
      this.#stop(read);
      return;
    }
    this.#waiting++;
    this.#last = this.#last.then(() => {
      this.#waiting--;
      return this.#take(read);
    });
  }

  /** In its turn, and before it where that does not come: what began in between is stopped too. One of both answers. */
  #stop(read: ReadCommand): void {
    let isAnswered = false;
    const stop = () => {
      if (isAnswered) return this.#run(read).then(() => {});
      isAnswered = true;
      return this.#answer(read);
    };
    const before = this.#last;
    this.#last = before.then(stop);
    const blocked = [this.#options.questionWaits(), delay(mostWaitMs, undefined, { ref: false })];
    Promise.race([before, ...blocked]).then(
      () => (isAnswered ? undefined : stop()),
      // Whoever waits for the turn gets the error.
      () => {},
    );
  }

  async #take(read: ReadCommand | UnreadableCommand): Promise<void> {
    // What came behind `shutdown` is not begun any more.
    if (this.#options.work.stopped.aborted) return;
    if ("error" in read) return this.#refuse(read, read.command, read.error);
    const answering = this.#answer(read);
    if (read.dialect.overlapping.has(read.name)) void this.#options.work.runs.track(answering);
    else await answering;
  }

  async #run({ id, name, params, dialect }: ReadCommand): Promise<unknown> {
    return dialect.handlers[name]!(this.#options.work, params as never, id);
  }

  async #answer(read: ReadCommand): Promise<void> {
    const { id, name } = read;
    const { respond } = this.#options;
    try {
      const data = (await this.#run(read)) as never;
      await respond({ id, type: "response", command: name as RpcCommandName, success: true, data });
      if (read.dialect.isPi) await this.#options.work.pi.onAnswer();
    } catch (error) {
      await this.#refuse(read, name, error as BonsaiError);
    }
  }

  /** pi's client makes an error of a text. */
  #refuse(
    { id, dialect }: Pick<ReadCommand, "id" | "dialect">,
    command: string | null,
    thrown: BonsaiError,
  ): Promise<void> {
    const { message, hint, ...rest } = errorJson(thrown);
    const error = dialect.isPi ? `${message} ${hint}` : { ...rest, message, hint };
    return this.#options.respond({ id, type: "response", command, success: false, error });
  }
}

/** A command as it came, checked. */
interface ReadCommand {
  id: RpcId | undefined;
  dialect: Dialect;
  name: string;
  params: unknown;
}

/** A line that is not a command: what is known of it. */
interface UnreadableCommand {
  id: RpcId | undefined;
  dialect: Dialect;
  command: string | null;
  error: BonsaiError;
}

/** Reads one line. Never throws. */
function readLine(line: LineIn): ReadCommand | UnreadableCommand | { answer: UiResponse } {
  const unread = { id: undefined, dialect: ours, command: null };
  if ("tooLong" in line) return { ...unread, error: tooLong(line.tooLong) };
  const value = parsed(line.text);
  if (BonsaiError.is(value)) return { ...unread, error: value };
  if (value.type === "extension_ui_response") return readAnswer(value);
  const { id: anyId, type, ...fields } = value;
  const id = typeof anyId === "string" || typeof anyId === "number" ? anyId : undefined;
  const command = typeof type === "string" ? type : null;
  const dialect = dialectOf(id, command);
  const named = { id, dialect, command };
  if (anyId !== undefined && id === undefined)
    return { ...named, error: invalid(`id must be a string or a number, not ${jsonText(anyId)}`) };
  const tooDeep = jsonDepthProblem(value);
  if (tooDeep !== undefined) return { ...named, error: invalid(`its JSON is ${tooDeep}`) };
  if (command === null || !Object.hasOwn(dialect.commands, command))
    return { ...named, error: unknownCommand(type, Object.keys(dialect.commands)) };
  const shape = dialect.commands[command]!;
  const checked = (dialect.isPi ? z.object(shape) : z.strictObject(shape)).safeParse(fields);
  if (!checked.success) return { ...named, error: invalid(`${command}: ${problems(checked.error)}`) };
  return { id, dialect, name: command, params: checked.data };
}

function readAnswer(value: Record<string, unknown>): { answer: UiResponse } | UnreadableCommand {
  const command = "extension_ui_response";
  const checked = uiResponse.safeParse(value);
  if (checked.success) return { answer: checked.data };
  const id = typeof value.id === "string" ? value.id : undefined;
  return { id, dialect: ours, command, error: invalid(`${command}: ${problems(checked.error)}`) };
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
