import type { LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError } from "@bonsai-agent/messages";
import type { AgentHost } from "../call/agent-host.ts";
import { errorJson } from "../call/event-json.ts";
import type { RpcCommandName, RpcData, RpcId, RpcNote, RpcParams } from "./protocol.ts";

/** Owner of the running work: runs of the agent, and long commands. */
export class RpcRuns {
  readonly #pending = new Set<Promise<unknown>>();
  readonly #note: (note: RpcNote) => void;
  readonly #waiting = new Set<() => void>();
  /** Results whose unsent texts were written: texts of one run share its result. */
  readonly #unsentNoted = new WeakSet<RunResult>();
  bash: AbortController | undefined;
  isRetrying = false;

  /** @param note writes lines beside responses and events */
  constructor(note: (note: RpcNote) => void) {
    this.#note = note;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_stored", ({ message }) => {
      if (message.role === "user") for (const accept of this.#waiting) accept();
    });
    const retried = (): undefined => {
      this.isRetrying = false;
    };
    lifecycle.on("message_update", retried);
    lifecycle.on("agent_end", retried);
  }

  /** Resolves when the run's message is stored or queued. Rejects if neither happens. */
  accepted(run: Promise<RunResult>, isQueued: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let isAccepted = false;
      const accept = () => {
        isAccepted = true;
        this.#waiting.delete(accept);
        resolve();
      };
      // A refusal comes at once: after one turn of the event loop, the message is queued.
      if (isQueued) setImmediate(accept);
      else this.#waiting.add(accept);
      const failed = (error: unknown) => {
        this.#waiting.delete(accept);
        // The run before a queued message has its own note.
        if (!isAccepted) reject(error);
        else if (!isQueued) this.#note({ type: "run_failed", error: errorJson(error) });
      };
      const ended = (result: RunResult) => {
        // A failure before the message was stored is the answer to it.
        if (result.status === "failed" && !isAccepted) reject(result.error);
        accept();
        this.#noteUnsent(result);
      };
      void this.track(run.then(ended, failed));
    });
  }

  #noteUnsent(result: RunResult): void {
    if (result.unsent === undefined || this.#unsentNoted.has(result)) return;
    this.#unsentNoted.add(result);
    const inputs = result.unsent.map(({ text, images }) => ({
      message: text,
      ...(images === undefined ? {} : { images }),
    }));
    this.#note({ type: "unsent", inputs });
  }

  /** Keeps the mode open until the work has ended. */
  track<Result>(work: Promise<Result>): Promise<Result> {
    this.#pending.add(work);
    const done = () => this.#pending.delete(work);
    work.then(done, done);
    return work;
  }

  refuseWhileBusy({ agent }: Pick<AgentHost, "agent">): void {
    if (this.#pending.size === 0 && !agent.isBusy) return;
    throw new BonsaiError({
      code: "rpc_busy",
      message: "The agent or a command of an extension is working in this session.",
      hint: "Wait for `agent_end`, or send `abort`. A command ends when its questions are answered.",
    });
  }

  /** Resolves when no command and no run is left. */
  async idle({ agent }: Pick<AgentHost, "agent">): Promise<void> {
    while (this.#pending.size > 0 || agent.isBusy) {
      await Promise.allSettled(this.#pending);
      await agent.idle();
    }
  }
}

/** The session, the agent and the output that RPC commands work with. */
export interface RpcWork {
  host: AgentHost;
  runs: RpcRuns;
  /** Aborted when the work is stopped. */
  stopped: AbortSignal;
  note(line: RpcNote): void;
  /** Ends the mode once the response is written. */
  shutdown(): void;
}

type RpcHandler<Name extends RpcCommandName> = (
  work: RpcWork,
  params: RpcParams<Name>,
  id?: RpcId,
) => Result<RpcData[Name]> | SerialisedData | Promise<Result<RpcData[Name]>>;

/** Handlers without data may return nothing. */
type Result<Data> = undefined extends Data ? Data | void : Data;

export type RpcHandlers = { [Name in RpcCommandName]: RpcHandler<Name> };

/** Data of a response that is JSON already. */
export class SerialisedData {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}
