import { parentPort, workerData } from "node:worker_threads";
import type { SearchQuery } from "./query.ts";
import {
  type FindOptions,
  type SearchNotice,
  type SearchProgress,
  type SearchScope,
  SessionSearch,
  type SessionSearchOptions,
} from "./session-search.ts";

// The program of a `SearchThread`.

/** Options that can be sent to a thread: an open session is in the memory of its own thread only. */
export type ThreadFindOptions = Pick<FindOptions, "limit" | "perSession"> & {
  scope?: Omit<SearchScope, "session">;
};

/** `reports`: the caller wants hits as they are found. Otherwise a million hits would hold it up. */
export type ThreadTask = "catchUp" | { find: SearchQuery; options: ThreadFindOptions; reports: boolean };

export interface ThreadRequest {
  id: number;
  task: ThreadTask | "abort";
}

export type ThreadReply =
  | { id: number; value: unknown }
  | { id: number; problem: string }
  | { id: number; progress: SearchProgress }
  | { notice: SearchNotice };

const port = parentPort!;
const running = new Map<number, AbortController>();
const search = new SessionSearch({
  ...(workerData as SessionSearchOptions),
  onNotice: (notice) => reply({ notice }),
});

port.on("message", ({ id, task }: ThreadRequest) => {
  if (task === "abort") running.get(id)?.abort();
  else void answer(id, task);
});

async function answer(id: number, task: ThreadTask): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  try {
    const { signal } = controller;
    const onProgress = (progress: SearchProgress) => reply({ id, progress });
    const value =
      task === "catchUp"
        ? await search.catchUp()
        : await search.find(task.find, { ...task.options, signal, ...(task.reports && { onProgress }) });
    reply({ id, value });
  } catch (error) {
    reply({ id, problem: (error as Error).message });
  } finally {
    running.delete(id);
  }
}

function reply(message: ThreadReply): void {
  port.postMessage(message);
}
