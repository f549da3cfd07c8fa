import type { BonsaiError } from "@bonsai-agent/messages";
import { errorJson } from "../modes/error-json.ts";
import { overlapping, type RpcWork, rpcHandlers } from "./commands.ts";
import type { LineIn } from "./json-lines-in.ts";
import type { RpcId, RpcResponse } from "./protocol.ts";
import { type ReadCommand, readLine, type UnreadableCommand } from "./read-command.ts";
import type { UiResponse } from "./ui-protocol.ts";

export interface DispatcherOptions {
  work: RpcWork;
  /** Takes the answer to a question: none of them has a response. */
  answer: (answer: UiResponse) => void;
  respond: (response: RpcResponse) => Promise<void>;
}

/**
 * Answers each command once. Commands begin in the order in which they came; answers to questions overtake them, for a
 * command may wait for one.
 */
export class RpcDispatcher {
  readonly #options: DispatcherOptions;
  #last: Promise<void>;

  /** @param ready the first command waits for it */
  constructor(options: DispatcherOptions, ready: Promise<void>) {
    this.#options = options;
    this.#last = ready;
  }

  /** Resolves when the next command may begin; rejects with what the first waited for. */
  receive(line: LineIn): Promise<void> {
    if ("text" in line && line.text.trim() === "") return this.#last;
    const read = readLine(line);
    if ("answer" in read) this.#options.answer(read.answer);
    else this.#last = this.#last.then(() => this.#take(read));
    return this.#last;
  }

  async #take(read: ReadCommand | UnreadableCommand): Promise<void> {
    if ("error" in read) return this.#refuse(read.id, read.command, read.error);
    const answering = this.#answer(read);
    if (overlapping.has(read.name)) void this.#options.work.runs.track(answering);
    else await answering;
  }

  async #answer({ id, name, params }: ReadCommand): Promise<void> {
    const { work, respond } = this.#options;
    try {
      const data = await (rpcHandlers[name] as (work: RpcWork, params: unknown) => unknown)(work, params);
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
