import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { ThreadFindOptions, ThreadReply, ThreadRequest, ThreadTask } from "./search-worker.ts";
import type { FindOptions, IndexState, SearchFindings, SessionSearchOptions } from "./session-search.ts";

/** The program of the thread, beside this file: in the sources, in `dist` and in a bundle. A bundler finds whole names only. */
const PROGRAMS: Record<string, string> = {
  ".ts": "./search-worker.ts",
  ".js": "./search-worker.js",
  ".mjs": "./search-worker.mjs",
};
const KIND = extname(import.meta.url);
const EXEC_ARGV = KIND === ".ts" ? ["--conditions=@bonsai-agent/source", "--no-warnings"] : [];

type CallOptions = Pick<FindOptions, "signal">;

interface OpenRequest {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * A `SessionSearch` in its own thread, for callers that must not wait. The first request starts the thread. It keeps the
 * process alive only during a request.
 */
export class SearchThread {
  readonly #options: SessionSearchOptions;
  readonly #open = new Map<number, OpenRequest>();
  #worker: Worker | undefined;
  #lastId = 0;

  constructor(options: SessionSearchOptions = {}) {
    this.#options = options;
  }

  /** As `SessionSearch.find`. @throws the same, and the error that ended the thread */
  async find(
    query: string,
    { signal, ...options }: ThreadFindOptions & CallOptions = {},
  ): Promise<SearchFindings> {
    return (await this.#request({ find: query, options }, { signal })) as SearchFindings;
  }

  /** As `SessionSearch.catchUp` for all recorded sessions. @throws the same, and the error that ended the thread */
  async catchUp(): Promise<IndexState> {
    return (await this.#request("catchUp", {})) as IndexState;
  }

  /** Ends the thread at once. Open requests fail; the next request starts a new thread. */
  close(): void {
    this.#end(new Error("The search was closed."));
  }

  async #request(task: ThreadTask, { signal }: CallOptions): Promise<unknown> {
    signal?.throwIfAborted();
    const worker = this.#running();
    worker.ref();
    const id = ++this.#lastId;
    const abort = () => {
      worker.postMessage({ id, task: "abort" } satisfies ThreadRequest);
      this.#open.get(id)?.reject(signal?.reason);
    };
    const answered = new Promise((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
    });
    signal?.addEventListener("abort", abort, { once: true });
    worker.postMessage({ id, task } satisfies ThreadRequest);
    try {
      return await answered;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#open.delete(id);
      if (this.#open.size === 0) worker.unref();
    }
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const { onNotice: _, ...options } = this.#options;
    const program = new URL(PROGRAMS[KIND]!, import.meta.url);
    const worker = new Worker(program, { workerData: options, execArgv: EXEC_ARGV });
    worker.on("message", (reply: ThreadReply) => this.#receive(reply));
    worker.on("error", (error) => {
      if (worker === this.#worker) this.#end(error);
    });
    this.#worker = worker;
    return worker;
  }

  #receive(reply: ThreadReply): void {
    if ("notice" in reply) {
      this.#options.onNotice?.(reply.notice);
      return;
    }
    const request = this.#open.get(reply.id);
    if ("problem" in reply) request?.reject(new Error(reply.problem));
    else request?.resolve(reply.value);
  }

  #end(error: unknown): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    for (const { reject } of this.#open.values()) reject(error);
  }
}
