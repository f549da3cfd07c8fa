import {
  digestSummariser,
  type Summariser,
  type SummaryAnswer,
  type SummaryRequest,
} from "@bonsai-agent/compaction";

interface ReplayedSummariserOptions {
  /** Time of a summary in milliseconds. */
  summaryMs: number;
  /** Called with the request's text. The returned function is called with the answer's text. */
  onAsked: (text: string) => (answer: string) => void;
}

/** Turns of the event loop after which the digest has ended. */
const TURNS = 3;

/**
 * Stands for a model on the recorded clock: the digest writes its summaries, and an answer is ready when the clock reaches
 * its time or when the replay waits for it.
 */
export class ReplayedSummariser {
  readonly summariser: Summariser;
  readonly #options: ReplayedSummariserOptions;
  readonly #digest = digestSummariser();
  readonly #waiting: Array<{ readyMs: number; answer: () => void }> = [];
  /** Summaries that the digest is writing. */
  readonly #underway = new Set<Promise<unknown>>();
  #nowMs = 0;

  constructor(options: ReplayedSummariserOptions) {
    this.#options = options;
    this.summariser = {
      name: "replayed/summariser",
      // Digests need no sections.
      isExtract: true,
      summarise: (request) => this.#summarise(request),
    };
  }

  /** Releases the answers that are ready by then. */
  async release(nowMs: number): Promise<void> {
    await Promise.all(this.#underway);
    this.#nowMs = nowMs;
    const ready = this.#waiting.filter(({ readyMs }) => readyMs <= nowMs);
    for (const each of ready) this.#waiting.splice(this.#waiting.indexOf(each), 1);
    for (const { answer } of ready) answer();
  }

  /**
   * Releases the answers that a check waits for.
   * @param untilMs the user waits from this time on
   * @returns the user's waiting time in milliseconds
   */
  async waitedFor(look: Promise<unknown>, untilMs: number): Promise<number> {
    let isOver = false;
    const end = look.finally(() => {
      isOver = true;
    });
    let waitedMs = 0;
    for (;;) {
      for (let turn = 0; turn < TURNS && !isOver; turn += 1) await new Promise(setImmediate);
      if (isOver) return waitedMs;
      const next = this.#waiting.shift();
      if (next !== undefined) {
        waitedMs = Math.max(waitedMs, next.readyMs - untilMs);
        next.answer();
      } else if (this.#underway.size > 0) await Promise.race([end, ...this.#underway]);
      else return waitedMs;
    }
  }

  async #summarise(request: SummaryRequest): Promise<SummaryAnswer> {
    const { summaryMs, onAsked } = this.#options;
    const readyMs = this.#nowMs + summaryMs;
    const charge = onAsked(`${request.prompt.system}${request.prompt.user}`);
    const writing = this.#digest.summarise(request);
    this.#underway.add(writing);
    try {
      const answer = await writing;
      if (answer.stopReason === "stop") charge(answer.text);
      await new Promise<void>((resolve) => {
        this.#waiting.push({ readyMs, answer: resolve });
        request.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      return request.signal.aborted ? { text: "", stopReason: "aborted" } : answer;
    } finally {
      this.#underway.delete(writing);
    }
  }
}
