import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { BonsaiError } from "@bonsai-agent/messages";

/** A pattern that takes longer on one file, or on some texts, goes round in circles. */
const MAX_FILE_MS = 2_000;

/** The parts of a regular expression. */
interface Expression {
  source: string;
  flags: string;
}

/** By the number of a line, from 0: where in it the first match begins. */
export type LineMatches = ReadonlyMap<number, number>;

/** By the number of a text, from 0: where in it the first match stands. */
type TextMatches = ReadonlyMap<number, { start: number; end: number }>;

interface Answer {
  /** The number of a line or text, then where in it a match begins, and where it ends: three by three. */
  found?: number[];
  problem?: string;
}

/** Runs in the worker. As text, for the published command is one file and what builds it may not rewrite this. */
const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const expression = new RegExp(workerData.source, workerData.flags);
parentPort.on("message", (given) => {
  try {
    const found = [];
    const texts = typeof given === "string" ? given.split(/\\r?\\n/) : given;
    for (const [number, text] of texts.entries()) {
      const match = expression.exec(text);
      if (match !== null) found.push(number, match.index, match.index + match[0].length);
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
   * @throws BonsaiError `expression_too_slow` for one that takes longer than two seconds; an Error for what is no
   * expression; the signal's reason
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
    const matches = new Map<number, number>();
    const found = await this.#ask(text, { name, signal });
    for (let at = 0; at < found.length; at += 3) matches.set(found[at]!, found[at + 1]!);
    return matches;
  }

  /** The same of whole texts, in which a match may go over several lines. @throws as `search` */
  async find({
    texts,
    name,
    signal,
  }: {
    texts: readonly string[];
    name: string;
    signal: AbortSignal;
  }): Promise<TextMatches> {
    const matches = new Map<number, { start: number; end: number }>();
    const found = await this.#ask(texts, { name, signal });
    for (let at = 0; at < found.length; at += 3)
      matches.set(found[at]!, { start: found[at + 1]!, end: found[at + 2]! });
    return matches;
  }

  async #ask(
    given: string | readonly string[],
    { name, signal }: { name: string; signal: AbortSignal },
  ): Promise<readonly number[]> {
    signal.throwIfAborted();
    const worker = this.#running();
    const limit = AbortSignal.timeout(MAX_FILE_MS);
    const answered = once(worker, "message", { signal: AbortSignal.any([signal, limit]) });
    worker.postMessage(given);
    try {
      const [{ found = [], problem }] = (await answered) as [Answer];
      if (problem !== undefined) throw new Error(problem);
      return found;
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
    // One that comes while nobody waits is thrown by the next search.
    worker.on("error", () => {});
    this.#worker = worker;
    return worker;
  }
}

function tooSlow({ source }: Expression, { name, cause }: { name: string; cause: unknown }): BonsaiError {
  return new BonsaiError({
    code: "expression_too_slow",
    message: `The pattern ${JSON.stringify(source)} takes too long on ${name}: more than ${MAX_FILE_MS / 1000} seconds. Write it without nested repetitions, or search for plain text.`,
    hint: "A repetition inside a repetition, like (a+)+, tries every way to split the text.",
    cause,
  });
}
