import type { Message } from "@bonsai-agent/messages";

/** Longer than that nobody rests; a clock that says so was set anew, or is damaged. */
const LONGEST_MS = 30 * 24 * 60 * 60_000;
/** An answer takes at least so long, whatever a recording says of it. */
const LEAST_ANSWER_MS = 1_000;
/** Where a recording does not tell, an answer takes so long. */
const USUAL_ANSWER_MS = 10_000;

/** The clock of a replay: that of the recording, where it can be believed. It never goes back, and never stands still. */
export class ReplayClock {
  /** Milliseconds. */
  nowMs = 0;
  readonly #restMs: number;
  #recordedMs: number | undefined;

  /** @param restMs before each of the user's messages, beside what was recorded */
  constructor(restMs: number) {
    this.#restMs = restMs;
  }

  /** Goes on to a message. */
  advance(message: Message): void {
    this.nowMs = this.at(message);
    const { timestamp } = message;
    if (isTime(timestamp)) this.#recordedMs = timestamp;
  }

  /** When a message comes, that is the next one. */
  at({ role, timestamp }: Message): number {
    const rest = role === "user" ? this.#restMs : 0;
    if (this.#recordedMs === undefined && isTime(timestamp)) return timestamp + rest;
    const passed = isTime(timestamp) ? timestamp - this.#recordedMs! : Number.NaN;
    const isKnown = passed >= 0 && passed <= LONGEST_MS;
    if (role !== "assistant") return this.nowMs + rest + (isKnown ? passed : 0);
    // An answer that took no time was written down without one.
    return this.nowMs + (isKnown && passed > 0 ? Math.max(LEAST_ANSWER_MS, passed) : USUAL_ANSWER_MS);
  }
}

function isTime(timestamp: unknown): timestamp is number {
  return typeof timestamp === "number" && Number.isFinite(timestamp) && timestamp >= 0;
}
