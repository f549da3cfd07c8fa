import type { ModelRequest } from "./model-request.ts";

/** What a context is asked without, because its provider refused it before. */
export interface WithoutThinking {
  /** Thinking of answers up to this time is left out, in milliseconds since the epoch. */
  upToMs: number;
  /** Whether the model is asked not to think either: some servers want the thinking of earlier calls while it does. */
  isOff: boolean;
}

interface Refusal {
  contextMs: number;
  upToMs: number;
  count: number;
}

/** Refused once with thinking on in a later turn as well, a context is no longer asked with it. */
const MAX_REFUSALS = 2;

/**
 * Which contexts a provider refused for their thinking, for one client: to send them again as they are would cost a
 * refused request each time. By session and model, until the context changes.
 */
export class RefusedThinking {
  readonly #refusals = new Map<string, Refusal>();

  /** Nothing for a context that was not refused. */
  of(request: ModelRequest): WithoutThinking | undefined {
    const refusal = this.#refusals.get(keyOf(request));
    if (refusal === undefined || refusal.contextMs !== contextMs(request)) return undefined;
    const { upToMs, count } = refusal;
    const isSameTurn = !request.messages.some(
      (message) => message?.role === "user" && message.timestamp > upToMs,
    );
    return { upToMs, isOff: isSameTurn || count >= MAX_REFUSALS };
  }

  /** Remembers a context that was taken only after its thinking had been left out; it may be damaged in any way. */
  add(request: ModelRequest): void {
    const key = keyOf(request);
    const known = this.#refusals.get(key);
    const stamp = contextMs(request);
    const count = known?.contextMs === stamp ? known.count + 1 : 1;
    this.#refusals.set(key, { contextMs: stamp, upToMs: latest(request.messages), count });
  }
}

function keyOf({ model: { provider, id }, cacheKey = "" }: ModelRequest): string {
  return JSON.stringify([provider, id, cacheKey]);
}

/** When what stands in the context last changed otherwise than by growing. */
function contextMs({ messages, prefixChangedAtMs = Number.NEGATIVE_INFINITY }: ModelRequest): number {
  const summaries = messages.filter((message) => message?.role === "compactionSummary");
  return Math.max(prefixChangedAtMs, latest(summaries));
}

function latest(messages: ModelRequest["messages"]): number {
  const times = messages.map((message) => message?.timestamp ?? Number.NaN);
  return times.reduce((max, time) => (time > max ? time : max), Number.NEGATIVE_INFINITY);
}
