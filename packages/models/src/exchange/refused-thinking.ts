import type { ModelRequest } from "../model-request.ts";

/** The thinking to leave out of a context. */
export interface WithoutThinking {
  /** Leaves out the thinking of answers up to this time, in milliseconds since the epoch. */
  upToMs: number;
  /** Switches thinking off: some servers demand the thinking of earlier calls while it is on. */
  isOff: boolean;
}

interface Refusal {
  contextMs: number;
  upToMs: number;
  count: number;
}

/** After this many refusals, a context is never sent with thinking again. */
const MAX_REFUSALS = 2;

/**
 * The contexts that a provider refused for their thinking, by session and model, until the context changes. Spares a
 * refused request each time.
 */
export class RefusedThinking {
  readonly #refusals = new Map<string, Refusal>();

  /** Returns undefined for a context that was not refused. */
  of(request: ModelRequest): WithoutThinking | undefined {
    const refusal = this.#refusals.get(keyOf(request));
    if (refusal === undefined || refusal.contextMs !== contextMs(request)) return undefined;
    const { upToMs, count } = refusal;
    const isSameTurn = !request.messages.some(
      (message) => message?.role === "user" && message.timestamp > upToMs,
    );
    return { upToMs, isOff: isSameTurn || count >= MAX_REFUSALS };
  }

  /** Adds a context that the provider accepted only without its thinking. */
  add(request: ModelRequest): void {
    const key = keyOf(request);
    const earlier = this.#refusals.get(key);
    const stamp = contextMs(request);
    const count = earlier?.contextMs === stamp ? earlier.count + 1 : 1;
    this.#refusals.set(key, { contextMs: stamp, upToMs: latest(request.messages), count });
  }
}

function keyOf({ model: { provider, id }, cacheKey = "" }: ModelRequest): string {
  return JSON.stringify([provider, id, cacheKey]);
}

/** The time of the latest change of the context other than an addition. */
function contextMs({ messages, prefixChangedAtMs = Number.NEGATIVE_INFINITY }: ModelRequest): number {
  const summaries = messages.filter((message) => message?.role === "compactionSummary");
  return Math.max(prefixChangedAtMs, latest(summaries));
}

function latest(messages: ModelRequest["messages"]): number {
  const times = messages.map((message) => message?.timestamp ?? Number.NaN);
  return times.reduce((max, time) => (time > max ? time : max), Number.NEGATIVE_INFINITY);
}
