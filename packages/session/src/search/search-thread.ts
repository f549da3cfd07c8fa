import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { SearchQuery } from "./search-query.ts";
import type { ThreadCatchUpOptions, ThreadFindOptions, ThreadReply, ThreadRequest } from "./search-worker.ts";
import type {
  CatchUpOptions,
  FindOptions,
  IndexState,
  SearchFindings,
  SearchProgress,
  SessionSearchOptions,
} from "./session-search.ts";

/** The program of the thread stands beside this file: in the sources, in `dist` and in a bundle. Named whole, so that it is packed. */
const PROGRAMS: Record<string, string> = {
  ".ts": "./search-worker.ts",
  ".js": "./search-worker.js",
  ".mjs": "./search-worker.mjs",
};
const KIND = extname(import.meta.url);
const EXEC_ARGV = KIND === ".ts" ? ["--conditions=@bonsai-agent/source", "--no-warnings"] : [];

interface Asked {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  onProgress?: ((progress: SearchProgress) => void) | undefined;
}

/**
 * A `SessionSearch` in a thread of its own, for who must not be held up: it is begun by the first question, keeps the
 * process alive only while one is open, and is ended at once, whatever it does.
 */
export class SearchThread {
  readonly #options: SessionSearchOptions;
  readonly #asked = new Map<number, Asked>();
  #worker: Worker | undefined;
  #lastId = 0;

  constructor(options: SessionSearchOptions = {}) {
    this.#options = options;
  }

  /** As `SessionSearch.find`. @throws the same, and what ended the thread */
  async find(
    query: SearchQuery,
    { signal, onProgress, ...options }: ThreadFindOptions & Pick<FindOptions, "signal" | "onProgress"> = {},
  ): Promise<SearchFindings> {
    const request = { find: query, options, reports: onProgress !== undefined };
    return (await this.#ask(request, { signal, onProgress })) as SearchFindings;
  }

  /** As `SessionSearch.catchUp`. @throws the same, and what ended the thread */
  async catchUp({
    signal,
    ...options
  }: ThreadCatchUpOptions & Pick<CatchUpOptions, "signal"> = {}): Promise<IndexState> {
    return (await this.#ask({ catchUp: options }, { signal })) as IndexState;
  }

  /** Ends the thread. What was asked and is not answered fails; another question begins it anew. */
  close(): void {
    this.#end(new Error("The search was closed."));
  }

  async #ask(
    request: DistributiveOmit<Exclude<ThreadRequest, { abort: true }>, "id">,
    { signal, onProgress }: { signal?: AbortSignal | undefined; onProgress?: Asked["onProgress"] },
  ): Promise<unknown> {
    signal?.throwIfAborted();
    const worker = this.#running();
    worker.ref();
    const id = ++this.#lastId;
    const abort = () => {
      worker.postMessage({ id, abort: true } satisfies ThreadRequest);
      this.#asked.get(id)?.reject(signal?.reason);
    };
    const answered = new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject, onProgress });
    });
    signal?.addEventListener("abort", abort, { once: true });
    worker.postMessage({ id, ...request });
    try {
      return await answered;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#asked.delete(id);
      if (this.#asked.size === 0) worker.unref();
    }
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const { onNotice: _, ...options } = this.#options;
    const program = new URL(PROGRAMS[KIND]!, import.meta.url);
    const worker = new Worker(program, { workerData: options, execArgv: EXEC_ARGV });
    worker.on("message", (reply: ThreadReply) => this.#replied(reply));
    worker.on("error", (error) => {
      if (worker === this.#worker) this.#end(error);
    });
    this.#worker = worker;
    return worker;
  }

  #replied(reply: ThreadReply): void {
    const asked = "id" in reply ? this.#asked.get(reply.id) : undefined;
    if ("notice" in reply) this.#options.onNotice?.(reply.notice);
    else if ("progress" in reply) asked?.onProgress?.(reply.progress);
    else if ("problem" in reply) asked?.reject(new Error(reply.problem));
    else asked?.resolve(reply.value);
  }

  #end(error: unknown): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
    for (const { reject } of this.#asked.values()) reject(error);
  }
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never;
