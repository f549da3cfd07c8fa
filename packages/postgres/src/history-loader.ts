import { extname } from "node:path";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { BonsaiError } from "@bonsai-agent/messages";
import type pg from "pg";
import { connectionOf } from "./database.ts";
import type { ByteRange } from "./segment.ts";

/** The program of the thread, beside this file: in the sources, in `dist` and in a bundle. A bundler finds whole names only. */
const PROGRAMS: Record<string, string> = {
  ".ts": "./history-worker.ts",
  ".js": "./history-worker.js",
  ".mjs": "./history-worker.mjs",
};
const KIND = extname(import.meta.url);
const EXEC_ARGV = KIND === ".ts" ? ["--conditions=@bonsai-agent/source", "--no-warnings"] : [];
const TIMEOUT_MS = 60_000;

/** Data of the thread. */
export interface HistoryThread {
  connection: pg.ClientConfig;
  sessionId: string;
  /** The working copy, into which the thread writes. */
  file: string;
  /** Set to 1 after each answer. */
  answered: Int32Array<SharedArrayBuffer>;
  port: MessagePort;
}

/** The loaded range, or the problem. */
export type HistoryAnswer = ByteRange | { problem: string };

/**
 * Loads older parts of a session while the caller waits: sessions are read synchronously, and a driver is not. A thread
 * with a connection of its own asks the database. It starts at the first use.
 */
export class HistoryLoader {
  readonly #options: Pick<HistoryThread, "connection" | "sessionId" | "file">;
  readonly #answered = new Int32Array(new SharedArrayBuffer(4));
  #thread: { worker: Worker; port: MessagePort } | undefined;

  constructor(options: Pick<HistoryThread, "connection" | "sessionId" | "file">) {
    this.#options = options;
  }

  /** Writes at least this range into the working copy. @throws BonsaiError `session_history_unavailable` */
  load(range: ByteRange): ByteRange {
    const { port } = this.#started();
    Atomics.store(this.#answered, 0, 0);
    port.postMessage(range);
    Atomics.wait(this.#answered, 0, 0, TIMEOUT_MS);
    const answer = (receiveMessageOnPort(port) as { message: HistoryAnswer } | undefined)?.message;
    if (answer !== undefined && "from" in answer) return answer;
    throw new BonsaiError({
      code: "session_history_unavailable",
      message: `Cannot load an older part of the session: ${answer?.problem ?? "the database did not answer"}`,
      hint: "Check the connection to the database, then repeat the step. Newer entries are complete.",
    });
  }

  close(): void {
    void this.#thread?.worker.terminate();
    this.#thread = undefined;
  }

  #started(): { worker: Worker; port: MessagePort } {
    if (this.#thread !== undefined) return this.#thread;
    const { port1, port2 } = new MessageChannel();
    const workerData: HistoryThread = { ...this.#options, answered: this.#answered, port: port2 };
    const worker = new Worker(new URL(PROGRAMS[KIND]!, import.meta.url), {
      workerData,
      transferList: [port2],
      execArgv: EXEC_ARGV,
    });
    // The thread never keeps the process alive, and a failed one has no answer.
    worker.unref();
    worker.on("error", () => {
      this.#thread = undefined;
    });
    this.#thread = { worker, port: port1 };
    return this.#thread;
  }
}

/** The settings of a pool's connections; undefined if they contain a function, which no thread can get. */
export function connectionForThread(pool: pg.Pool): pg.ClientConfig | undefined {
  try {
    return structuredClone(connectionOf(pool));
  } catch {
    return undefined;
  }
}
