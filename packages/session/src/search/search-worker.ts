import { parentPort, workerData } from "node:worker_threads";
import {
  type FindOptions,
  type SearchNotice,
  type SearchScope,
  SessionSearch,
  type SessionSearchOptions,
} from "./session-search.ts";

// The program of a `SearchThread`.

/** Options that can be sent to a thread: an open session is in the memory of its own thread only. */
export type ThreadFindOptions = Pick<
  FindOptions,
  "limit" | "perSession" | "entryIds" | "budgetMs" | "requiresPhrases"
> & {
  scope?: Pick<SearchScope, "cwd" | "folder"> & { sources?: readonly { file: string }[] };
};

export type ThreadTask = "catchUp" | { find: string; options: ThreadFindOptions };

export interface ThreadRequest {
  id: number;
  task: ThreadTask | "abort";
}

export type ThreadReply =
  | { id: number; value: unknown }
  | { id: number; problem: string }
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
    const value =
      task === "catchUp" ? await search.catchUp() : await search.find(task.find, { ...task.options, signal });
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
