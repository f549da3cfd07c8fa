import { parentPort, workerData } from "node:worker_threads";
import type { SearchQuery } from "./search-query.ts";
import {
  type CatchUpOptions,
  type FindOptions,
  type SearchNotice,
  type SearchProgress,
  type SearchScope,
  SessionSearch,
  type SessionSearchOptions,
} from "./session-search.ts";

// The program of a `SearchThread`.

/** A request to the thread, without the options that have no meaning there. */
export type ThreadRequest =
  | {
      id: number;
      find: SearchQuery;
      options: ThreadFindOptions;
      /** Whether somebody wants the hits as they come: of a million, reading them holds up whoever gets them. */
      reports: boolean;
    }
  | { id: number; catchUp: ThreadCatchUpOptions }
  | { id: number; abort: true };

/** An open session is in the memory of its own thread only. */
type ThreadScope = Omit<SearchScope, "session">;
export type ThreadFindOptions = Pick<FindOptions, "limit" | "perSession"> & { scope?: ThreadScope };
export type ThreadCatchUpOptions = Pick<CatchUpOptions, "budgetMs"> & { scope?: ThreadScope };

export type ThreadReply =
  | { id: number; value: unknown }
  | { id: number; problem: string }
  | { id: number; progress: SearchProgress }
  | { notice: SearchNotice };

/** Options of a search in a thread. Its notices are sent as messages. */
type ThreadOptions = Omit<SessionSearchOptions, "onNotice">;

const port = parentPort!;
const running = new Map<number, AbortController>();
const search = new SessionSearch({
  ...(workerData as ThreadOptions),
  onNotice: (notice) => reply({ notice }),
});

port.on("message", (request: ThreadRequest) => {
  if ("abort" in request) running.get(request.id)?.abort();
  else void answer(request);
});

async function answer(request: Exclude<ThreadRequest, { abort: true }>): Promise<void> {
  const { id } = request;
  const controller = new AbortController();
  const { signal } = controller;
  running.set(id, controller);
  try {
    const value =
      "find" in request
        ? await search.find(request.find, {
            ...request.options,
            signal,
            ...(request.reports && { onProgress: (progress) => reply({ id, progress }) }),
          })
        : await search.catchUp({ ...request.catchUp, signal });
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
