import {
  digestSummariser,
  type Summariser,
  type SummaryAnswer,
  type SummaryRequest,
} from "@bonsai-agent/compaction";
import type { PaidAnswer } from "./bill.ts";
import type { RecordedSummary } from "./recording.ts";

/** The source of a replay's summaries: the digest, the recording, or a model that is really called. */
export type SummarySource = "digest" | "recorded" | Summariser;

interface ReplayedSummariserOptions {
  source: SummarySource;
  recorded: readonly RecordedSummary[];
  /** Time of a summary that no model writes, in milliseconds. */
  summaryMs: number;
  /** Called with the request's text. The returned function is called with the answer. */
  onAsked: (text: string) => (answer: PaidAnswer) => void;
}

/** Maximum distance of a recorded summary from the compaction that it stands for, in messages. */
const MAX_DISTANCE_MESSAGES = 20;

/**
 * A summariser on the recorded clock: it answers when that clock reaches the time of the answer, or when the replay waits
 * for it. A real model takes its real time.
 */
export class ReplayedSummariser {
  readonly summariser: Summariser;
  /** Number of summaries from the recording. */
  taken = 0;
  readonly #options: ReplayedSummariserOptions;
  readonly #digest = digestSummariser();
  readonly #waiting: Array<{ readyMs: number; answer: () => void }> = [];
  /** Running requests to a real model. */
  readonly #underway = new Set<Promise<unknown>>();
  #nowMs = 0;
  #at = 0;

  constructor(options: ReplayedSummariserOptions) {
    this.#options = options;
    const { source } = options;
    this.summariser = {
      ...(typeof source === "object" && { ...sizesOf(source) }),
      name: typeof source === "object" ? source.name : "replayed/summariser",
      // Digests and recorded summaries need no sections.
      isExtract: typeof source !== "object",
      summarise: (request) => this.#summarise(request),
    };
  }

  /** Releases the answers that are ready by then. @param at index of the next message */
  async release(nowMs: number, at: number): Promise<void> {
    await Promise.all(this.#underway);
    this.#nowMs = nowMs;
    this.#at = at;
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

  /** The recorded summary of the same part near this place. */
  #recordedFor({ kind }: SummaryRequest): SummaryAnswer | undefined {
    const distance = ({ at }: RecordedSummary) => Math.abs(at - this.#at);
    const [nearest] = [...this.#options.recorded].sort((a, b) => distance(a) - distance(b));
    if (nearest === undefined || distance(nearest) > MAX_DISTANCE_MESSAGES) return undefined;
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

/** The separator of a summary's two parts. */
const TURN_MARK = /\n+---\n+\*\*Turn Context \(split turn\):\*\*\n+/;

/** Turns of the event loop after which all work without a model has ended. */
const TURNS = 3;
