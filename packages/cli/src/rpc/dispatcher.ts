import { setTimeout as delay } from "node:timers/promises";
import type { BonsaiError } from "@bonsai-agent/messages";
import { errorJson } from "../modes/error-json.ts";
import { overlapping, type RpcWork, rpcHandlers } from "./commands.ts";
import type { LineIn } from "./json-lines-in.ts";
import type { RpcCommandName, RpcId, RpcResponse } from "./protocol.ts";
import { type ReadCommand, readLine, type UnreadableCommand } from "./read-command.ts";
import type { UiResponse } from "./ui-protocol.ts";

export interface DispatcherOptions {
  work: RpcWork;
  /** Takes the answer to a question: none of them has a response. */
  answer: (answer: UiResponse) => void;
  /** Resolves when a question waits. */
  questionWaits: () => Promise<void>;
  respond: (response: RpcResponse) => Promise<void>;
}

/** Commands that stop things: they get through, whatever another waits for. */
const stopping: ReadonlySet<RpcCommandName> = new Set(["abort", "abort_compaction", "shutdown"]);

/** Lines are read ahead up to here, so that what stops things is seen behind a command that does not end. */
const mostWaiting = 64;

/** What stops things waits so long for its turn. */
const patienceMs = 500;

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
    const blocked = [this.#options.questionWaits(), delay(patienceMs, undefined, { ref: false })];
    Promise.race([before, ...blocked]).then(
      () => (isAnswered ? undefined : stop()),
      // Whoever waits for the turn is told.
      () => {},
    );
  }

  async #take(read: ReadCommand | UnreadableCommand): Promise<void> {
    // What came behind `shutdown` is not begun any more.
    if (this.#options.work.stopped.aborted) return;
    if ("error" in read) return this.#refuse(read.id, read.command, read.error);
    const answering = this.#answer(read);
    if (overlapping.has(read.name)) void this.#options.work.runs.track(answering);
    else await answering;
  }

  async #run({ name, params }: ReadCommand): Promise<unknown> {
    return (rpcHandlers[name] as (work: RpcWork, params: unknown) => unknown)(this.#options.work, params);
  }

  async #answer(read: ReadCommand): Promise<void> {
    const { id, name } = read;
    const { respond } = this.#options;
    try {
      const data = await this.#run(read);
      const response = { ...withId(id), type: "response", command: name, success: true } as const;
      await respond(data === undefined ? response : { ...response, data: data as never });
    } catch (error) {
      await this.#refuse(id, name, error as BonsaiError);
    }
  }

  #refuse(id: RpcId | undefined, command: string | null, error: BonsaiError): Promise<void> {
    return this.#options.respond({
      ...withId(id),
      type: "response",
      command,
      success: false,
      error: errorJson(error),
    });
  }
}

function withId(id: RpcId | undefined): { id?: RpcId } {
  return id === undefined ? {} : { id };
}
