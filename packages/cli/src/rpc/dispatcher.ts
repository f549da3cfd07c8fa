import type { BonsaiError } from "@bonsai-agent/messages";
import { errorJson } from "../modes/error-json.ts";
import { overlapping, type RpcWork, rpcHandlers } from "./commands.ts";
import type { LineIn } from "./json-lines-in.ts";
import type { RpcId, RpcResponse } from "./protocol.ts";
import { type ReadCommand, readCommand } from "./read-command.ts";

export interface DispatcherOptions {
  work: RpcWork;
  respond: (response: RpcResponse) => Promise<void>;
}

/** Answers each line once. Commands begin in the order in which they came. */
export class RpcDispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Resolves when the next line may be read; never rejects. */
  async receive(line: LineIn): Promise<void> {
    if ("text" in line && line.text.trim() === "") return;
    const read = readCommand(line);
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
