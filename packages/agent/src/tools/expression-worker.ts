import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** A pattern that takes longer on one file goes round in circles. */
const MAX_FILE_MS = 2_000;

/** What a search looks for: the parts of a regular expression. */
export interface Expression {
  source: string;
  flags: string;
}

/** By the number of a line, from 0: where in it the first match begins. */
export type LineMatches = ReadonlyMap<number, number>;

interface Answer {
  /** A number of a line, then where in it: pair after pair. */
  found?: number[];
  problem?: string;
}

/** Runs in the worker. As text, for the published command is one file and what builds it may not rewrite this. */
const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const expression = new RegExp(workerData.source, workerData.flags);
parentPort.on("message", (text) => {
  try {
    const found = [];
    for (const [number, line] of text.split(/\\r?\\n/).entries()) {
      const at = line.search(expression);
      if (at >= 0) found.push(number, at);
    }
    parentPort.postMessage({ found });
  } catch (error) {
    parentPort.postMessage({ problem: error.message });
  }
});
`;

/**
 * Looks for a regular expression in a thread of its own: one that goes round in circles cannot be broken off where it
 * runs, and nothing else would run meanwhile, neither keys nor signals.
 */
export class ExpressionWorker {
  readonly #expression: Expression;
  #worker: Worker | undefined;

  constructor(expression: Expression) {
    this.#expression = expression;
  }

  /**
   * The lines of a text that match. An abort ends it at once.
   * @param name what the text is, for errors
   * @throws Error for what is no expression, and for one that takes longer than two seconds; the signal's reason
   */
  async search({
    text,
    name,
    signal,
  }: {
    text: string;
    name: string;
    signal: AbortSignal;
  }): Promise<LineMatches> {
    signal.throwIfAborted();
    const worker = this.#running();
    const limit = AbortSignal.timeout(MAX_FILE_MS);
    const answered = once(worker, "message", { signal: AbortSignal.any([signal, limit]) });
    worker.postMessage(text);
    try {
      const [{ found = [], problem }] = (await answered) as [Answer];
      if (problem !== undefined) throw new Error(problem);
      return matchesOf(found);
    } catch (cause) {
      this.close();
      signal.throwIfAborted();
      throw limit.aborted ? tooSlow(this.#expression, { name, cause }) : cause;
    }
  }

  /** Ends the thread, whatever it does. */
  close(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const { source, flags } = this.#expression;
    const worker = new Worker(WORKER, { eval: true, workerData: { source, flags }, execArgv: [] });
    // One that comes while nobody waits is told by the next search.
    worker.on("error", () => {});
    this.#worker = worker;
    return worker;
  }
}

function matchesOf(found: readonly number[]): LineMatches {
  const matches = new Map<number, number>();
  for (let at = 0; at < found.length; at += 2) matches.set(found[at]!, found[at + 1]!);
  return matches;
}

function tooSlow({ source }: Expression, { name, cause }: { name: string; cause: unknown }): Error {
  return new Error(
    `The pattern ${JSON.stringify(source)} takes too long on ${name}: more than ${MAX_FILE_MS / 1000} seconds. Write it without nested repetitions, or set literal.`,
    { cause },
  );
}
