import {
  digestSummariser,
  type Summariser,
  type SummaryAnswer,
  type SummaryRequest,
} from "@bonsai-agent/compaction";
import {
  type ProviderAnswer,
  type ProviderCompaction,
  type ProviderRequest,
  SummaryFailure,
} from "@bonsai-agent/compaction/host";
import type { ProviderSummary } from "@bonsai-agent/messages";

/** The compaction on the provider's side that a model has. */
export type KnownProvider = Pick<ProviderCompaction, "unavailable" | "isSealed">;

interface ReplayedSummariserOptions {
  /** Time of a summary in milliseconds. */
  summaryMs: number;
  /** Default: no provider compacts. */
  provider?: KnownProvider | undefined;
  /** Called with a request. The returned function is called with the answer's text. */
  onAsked: (request: SummaryRequest) => (answer: string) => void;
  /** Called with a request to the provider. The returned function is called with the answer's text. */
  onProviderAsked: (request: ProviderRequest) => (answer: string) => ProviderSummary;
}

/** Turns of the event loop after which the digest has ended. */
const TURNS = 3;

/**
 * Replaces the model on the recorded clock. The digest writes the summaries. An answer is ready when the clock reaches its
 * time, or when the replay waits for it.
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
    const { provider } = options;
    this.summariser = {
      name: "replayed/summariser",
      // Digests need no sections.
      isExtract: true,
      summarise: (request) => this.#summarise(request),
      provider: provider && { ...provider, compact: (request) => this.#compact(request) },
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
    const charge = this.#options.onAsked(request);
    const answer = await this.#written(
      request,
      ({ text, stopReason }) => stopReason === "stop" && charge(text),
    );
    return request.signal.aborted ? { text: "", stopReason: "aborted" } : answer;
  }

  /** The provider's summary is as long as a digest. Without a text, the digest is also the readable part. */
  async #compact({ kind, messages, signal, ...asked }: ProviderRequest): Promise<ProviderAnswer> {
    const summaryOf = this.#options.onProviderAsked({ kind, messages, signal, ...asked });
    const prompt = { system: "", user: "" };
    const maxSummaryTokens = Number.POSITIVE_INFINITY;
    const request = { kind, messages, signal, prompt, maxSummaryTokens, carriesUserWords: true };
    const { text } = await this.#written(request);
    if (signal.aborted) throw new SummaryFailure("aborted", "The summary was cancelled.");
    return { summary: summaryOf(text), text: undefined };
  }

  /** Writes a digest and waits until a model's answer would be ready. */
  async #written(
    request: SummaryRequest,
    onWritten: (answer: SummaryAnswer) => void = () => {},
  ): Promise<SummaryAnswer> {
    const readyMs = this.#nowMs + this.#options.summaryMs;
    const writing = this.#digest.summarise(request);
    this.#underway.add(writing);
    try {
      const answer = await writing;
      onWritten(answer);
      await new Promise<void>((resolve) => {
        this.#waiting.push({ readyMs, answer: resolve });
        request.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      return answer;
    } finally {
      this.#underway.delete(writing);
    }
  }
}
