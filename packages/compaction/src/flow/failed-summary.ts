import { SummaryFailure } from "../summariser.ts";
import { isModelRung } from "./outcome.ts";
import type { CompactionResult } from "./result.ts";

/** So long after a failure, automatic compactions leave the model alone. */
const REMEMBERED_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

/**
 * Owner of the latest failure of a model's summary: who it was, and when. One is kept, for one is enough to spare the next
 * compaction the wait; a summary that succeeds, another model, and time each end it.
 */
export class FailedSummary {
  /** Milliseconds since the epoch. */
  readonly #now: () => number;
  #latest: { summariser: string; atMs: number } | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes how a compaction went in which this summariser could be asked. */
  note(result: CompactionResult, summariser: string): void {
    if (isModelRung(result.summarisedBy)) this.#latest = undefined;
    else if (modelFailed(result)) this.#latest = { summariser, atMs: this.#now() };
  }

  forget(): void {
    this.#latest = undefined;
  }

  /** Why this summariser is not to be asked, in a sentence for people; undefined where it is. */
  whyUnasked(summariser: string): string | undefined {
    if (this.#latest?.summariser !== summariser) return undefined;
    const elapsedMs = this.#now() - this.#latest.atMs;
    // A clock that was set back knows nothing of how long it is.
    if (elapsedMs < 0 || elapsedMs >= REMEMBERED_MS) return undefined;
    const left = minutes(Math.ceil((REMEMBERED_MS - elapsedMs) / MINUTE_MS));
    return `The model's summary failed ${ago(elapsedMs)}. Bonsai asks the model again in ${left}, after you run /compact, or after you change the model.`;
  }
}

function ago(elapsedMs: number): string {
  const whole = Math.floor(elapsedMs / MINUTE_MS);
  return whole === 0 ? "less than a minute ago" : `${minutes(whole)} ago`;
}

function minutes(count: number): string {
  return `${count} minute${count === 1 ? "" : "s"}`;
}

/**
 * True where the model was asked and gave nothing that can stand as a summary: an error, a refusal, a call, half an answer.
 * Not where the user stopped it, where an extension failed, where no request was sent for it would not have fitted, and
 * where the summary was sound but the span too short to become shorter.
 */
function modelFailed({ status, failures }: CompactionResult): boolean {
  if (status === "cancelled") return false;
  // What was too long for one request is asked for in parts: how that went is what counts.
  const latest = failures.findLast(({ rung }) => isModelRung(rung));
  return latest?.cause instanceof SummaryFailure && !isFaultless(latest.cause);
}

function isFaultless({ kind }: SummaryFailure): boolean {
  return kind === "does-not-fit" || kind === "no-shorter";
}
