import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { ThreadFindOptions, ThreadReply, ThreadRequest } from "./search-worker.ts";
import type { FindOptions, IndexState, SearchFindings, SessionSearchOptions } from "./session-search.ts";

/** The program of the thread, beside this file: in the sources, in `dist` and in a bundle. A bundler finds whole names only. */
const PROGRAMS: Record<string, string> = {
  ".ts": "./search-worker.ts",
  ".js": "./search-worker.js",
  ".mjs": "./search-worker.mjs",
};
const KIND = extname(import.meta.url);
const EXEC_ARGV = KIND === ".ts" ? ["--conditions=@bonsai-agent/source", "--no-warnings"] : [];

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
    { signal, ...options }: ThreadFindOptions & Pick<FindOptions, "signal"> = {},
  ): Promise<SearchFindings> {
    return (await this.#request({ query, options }, signal)) as SearchFindings;
  }

  /** As `SessionSearch.catchUp` for all recorded sessions. @throws the same, and the error that ended the thread */
  async catchUp(): Promise<IndexState> {
    return (await this.#request({})) as IndexState;
  }

  /** Ends the thread at once. Open requests fail; the next request starts a new thread. */
  close(): void {
    this.#end(new Error("The search was closed."));
  }

  async #request(
    task: { query?: string; options?: ThreadFindOptions },
    signal?: AbortSignal,
  ): Promise<unknown> {
    signal?.throwIfAborted();
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const post = (request: ThreadRequest) => worker.postMessage(request);
    worker.ref();
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#open.set(id, { resolve, reject });
    const abort = () => {
      post({ id, isAborted: true });
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    post({ id, ...task });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#open.delete(id);
      if (this.#open.size === 0) worker.unref();
    }
  }

  #start(): Worker {
    const { onNotice, ...workerData } = this.#options;
    const worker = new Worker(new URL(PROGRAMS[KIND]!, import.meta.url), { workerData, execArgv: EXEC_ARGV });
    worker.on("message", (reply: ThreadReply) => {
      if ("notice" in reply) return onNotice?.(reply.notice);
      const request = this.#open.get(reply.id);
      if (reply.problem === undefined) request?.resolve(reply.value);
      else request?.reject(new Error(reply.problem));
    });
    worker.on("error", (error) => {
      if (worker === this.#worker) this.#end(error);
    });
    return worker;
  }

  #end(error: unknown): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    for (const { reject } of this.#open.values()) reject(error);
  }
}
