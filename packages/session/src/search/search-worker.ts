import { parentPort, workerData } from "node:worker_threads";
import { type FindOptions, type SearchNotice, type SearchScope, SessionSearch } from "./session-search.ts";

// The program of a `SearchThread`.

/** Options that can be sent to a thread: an open session is in the memory of its own thread only. */
export type ThreadFindOptions = Omit<FindOptions, "scope" | "secrets" | "signal"> & {
  scope?: Pick<SearchScope, "cwd" | "folder"> & { sources?: readonly { file: string }[] };
};

/** A search, without a query an update of the index, or the end of an earlier request. */
export type ThreadRequest = { id: number } & (
  | { query?: string; options?: ThreadFindOptions }
  | { isAborted: true }
);

export type ThreadReply = { notice: SearchNotice } | { id: number; value?: unknown; problem?: string };

const running = new Map<number, AbortController>();
const reply = (message: ThreadReply) => parentPort!.postMessage(message);
const search = new SessionSearch({ ...workerData, onNotice: (notice) => reply({ notice }) });

parentPort!.on("message", async (request: ThreadRequest) => {
  const { id } = request;
  if ("isAborted" in request) return running.get(id)?.abort();
  const controller = new AbortController();
  const { signal } = controller;
  running.set(id, controller);
  try {
    const { query, options } = request;
    const value =
      query === undefined ? await search.catchUp() : await search.find(query, { ...options, signal });
    reply({ id, value });
  } catch (error) {
    reply({ id, problem: (error as Error).message });
  }
  running.delete(id);
});
