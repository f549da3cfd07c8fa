import {
  digestSummariser,
  type Summariser,
  type SummaryAnswer,
  type SummaryRequest,
} from "@bonsai-agent/compaction";
import type { PaidAnswer } from "./bill.ts";
import type { RecordedSummary } from "./recording.ts";

/** Who writes the summaries of a replay: the digest; whoever wrote the recorded ones; or a model, which is asked. */
export type SummarySource = "digest" | "recorded" | Summariser;

interface ReplayedSummariserOptions {
  source: SummarySource;
  recorded: readonly RecordedSummary[];
  /** So long a summary takes that nobody writes just now, in milliseconds. */
  summaryMs: number;
  /** Called with what is asked, before anybody answers. @returns is told of the answer */
  onAsked: (text: string) => (answer: PaidAnswer) => void;
}

/** So many messages from where a recorded compaction was made, its summary still says what is summarised. */
const NEAR_MESSAGES = 20;

/**
 * A summariser on a recorded clock: its answers come when that clock has come so far, or when somebody waits for them.
 * A model that is asked takes the time that it takes.
 */
export class ReplayedSummariser {
  readonly summariser: Summariser;
  /** How many were taken from the recording. */
  taken = 0;
  readonly #options: ReplayedSummariserOptions;
  readonly #digest = digestSummariser();
  readonly #waiting: Array<{ readyMs: number; answer: () => void }> = [];
  /** Requests that somebody answers just now, in earnest. */
  readonly #underway = new Set<Promise<unknown>>();
  #nowMs = 0;
  #at = 0;

  constructor(options: ReplayedSummariserOptions) {
    this.#options = options;
    const { source } = options;
    this.summariser = {
      ...(typeof source === "object" && { ...sizesOf(source) }),
      name: typeof source === "object" ? source.name : "replayed/summariser",
      // A digest owes no sections; what stands in for a model that wrote some does not either.
      isExtract: typeof source !== "object",
      summarise: (request) => this.#summarise(request),
    };
  }

  /** Lets all go that are ready by then. @param at the message that comes next */
  async release(nowMs: number, at: number): Promise<void> {
    await Promise.all(this.#underway);
    this.#nowMs = nowMs;
    this.#at = at;
    const ready = this.#waiting.filter(({ readyMs }) => readyMs <= nowMs);
    for (const each of ready) this.#waiting.splice(this.#waiting.indexOf(each), 1);
    for (const { answer } of ready) answer();
  }

  /**
   * Lets those go that a look waits for.
   * @param untilMs somebody is there from then on
   * @returns how long that one would have waited, in milliseconds
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
    const askedMs = this.#nowMs;
    const paid = onAsked(`${request.prompt.system}${request.prompt.user}`);
    const answering = this.#answered(request);
    this.#underway.add(answering);
    const begunMs = performance.now();
    try {
      const { answer, isWritten } = await answering;
      if (answer.stopReason === "stop" || answer.usage !== undefined) paid(answer);
      const tookMs = isWritten ? performance.now() - begunMs : summaryMs;
      await new Promise<void>((resolve) => {
        this.#waiting.push({ readyMs: askedMs + tookMs, answer: resolve });
        request.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      return request.signal.aborted ? { text: "", stopReason: "aborted" } : answer;
    } finally {
      this.#underway.delete(answering);
    }
  }

  async #answered(request: SummaryRequest): Promise<{ answer: SummaryAnswer; isWritten: boolean }> {
    const { source } = this.#options;
    if (typeof source === "object") return { answer: await source.summarise(request), isWritten: true };
    const recorded = source === "recorded" ? this.#recordedFor(request) : undefined;
    return { answer: recorded ?? (await this.#digest.summarise(request)), isWritten: false };
  }

  /** What was written for the same part, about here. */
  #recordedFor({ kind }: SummaryRequest): SummaryAnswer | undefined {
    const distance = ({ at }: RecordedSummary) => Math.abs(at - this.#at);
    const [nearest] = [...this.#options.recorded].sort((a, b) => distance(a) - distance(b));
    if (nearest === undefined || distance(nearest) > NEAR_MESSAGES) return undefined;
    const [history = "", ofTurn = ""] = nearest.prose.split(TURN_MARK);
    const text = (kind === "turnPrefix" ? ofTurn : history).trim();
    if (text === "") return undefined;
    this.taken += 1;
    const { usage } = nearest;
    return { text, stopReason: "stop", ...(usage && kind === "history" && { usage }) };
  }
}

function sizesOf({ contextWindow, maxOutputTokens, isFree }: Summariser): Partial<Summariser> {
  return { contextWindow, maxOutputTokens, isFree };
}

/** Where a summary of two parts is joined. */
const TURN_MARK = /\n+---\n+\*\*Turn Context \(split turn\):\*\*\n+/;

/** Of the event loop: whatever needs no model has ended by then. */
const TURNS = 3;
