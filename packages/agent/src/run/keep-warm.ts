import { inputTokens, usualCacheRules } from "@bonsai-agent/messages";
import { counted, usdText } from "@bonsai-agent/messages/numbers";
import { messageOf } from "../notice.ts";
import type { AgentParts } from "./agent-parts.ts";
import type { RunFollower } from "./queue.ts";
import type { AnsweredRequest } from "./summariser.ts";

/** Share of the cache's lifetime after which the prefix is read again. Vendors count from the start of a request. */
const READ_AFTER_SHARE = 0.9;
/** Maximum answer of a minimal request, in tokens. Some servers send more than the one that Bonsai asks for. */
const ANSWER_TOKENS = 16;
const MILLION = 1_000_000;

/**
 * Sends the latest request again shortly before the provider's cache expires, while the agent is idle. Reading a cached
 * prefix restarts its lifetime. The answer ends after its first token.
 *
 * Invariant: in one pause, the requests cost less than writing the prefix once, and stay within the limits of
 * `cache.keepWarm`.
 */
export class KeepWarm implements RunFollower {
  readonly #parts: AgentParts;
  readonly #isBusy: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #abort = new AbortController();
  #sent: Promise<void> | undefined;
  /** The current pause, with its requests and their cost. It began with the latest answer of a run. */
  #pause = { sinceMs: 0, requests: 0, usd: 0, readUsd: 0, rewriteUsd: 0 };

  constructor(parts: AgentParts, isBusy: () => boolean) {
    this.#parts = parts;
    this.#isBusy = isBusy;
  }

  runEnded(): void {
    this.#stop();
    const { settings, promptCache } = this.#parts;
    const latest = settings.cache.keepWarm.enabled ? promptCache.latest : undefined;
    // A session with one prompt has a short prefix.
    if (!latest?.request.messages.some(({ role }) => role === "assistant")) return;
    const costs = keepWarmCosts(latest);
    if (costs === undefined) return;
    this.#pause = { sinceMs: latest.atMs, requests: 0, usd: 0, ...costs };
    this.#wait(latest, latest.answer.timestamp);
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#sent;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#abort.abort();
    this.#abort = new AbortController();
  }

  /** @param readMs the start of the latest request with this prefix */
  #wait(latest: AnsweredRequest, readMs: number): void {
    const { keptMs } = latest.request.model.cacheRules ?? usualCacheRules;
    const delayMs = readMs + keptMs * READ_AFTER_SHARE - this.#parts.now();
    if (delayMs <= 0) return;
    this.#timer = setTimeout(() => {
      this.#sent = this.#readAgain(latest);
    }, delayMs).unref();
  }

  /** Never rejects. */
  async #readAgain(latest: AnsweredRequest): Promise<void> {
    const { promptCache, selection, session, now, onNotice } = this.#parts;
    const atMs = now();
    // A compaction, an edit or another model needs another prefix.
    if (this.#isBusy() || promptCache.warmRequest({ session, model: selection.model, atMs }) === undefined)
      return;
    const limit = this.#limitReached(atMs);
    try {
      if (limit === undefined && (await this.#read(latest))) return this.#wait(latest, atMs);
    } catch (error) {
      onNotice({
        level: "warning",
        code: "keep_warm_failed",
        message: `Stopped keeping the provider's cache warm: ${messageOf(error)} The session did not change.`,
      });
    }
    if (limit !== undefined && this.#pause.requests > 0) this.#notifyEnd(limit);
  }

  /** The reason to send no further request, in a sentence; undefined if one is allowed. */
  #limitReached(nowMs: number): string | undefined {
    const { maxMinutes, maxUsd } = this.#parts.settings.cache.keepWarm;
    const { sinceMs, readUsd, rewriteUsd } = this.#pause;
    const usd = this.#pause.usd + readUsd;
    if (nowMs - sinceMs > maxMinutes * 60_000) return `The limit is ${counted(maxMinutes, "minute")}.`;
    if (usd > maxUsd) return `The limit is ${usdText(maxUsd)}.`;
    return usd < rewriteUsd ? undefined : "More requests would cost more than writing the prefix again.";
  }

  /** Returns true if the provider read the prefix from its cache. */
  async #read({ request, answer }: AnsweredRequest): Promise<boolean> {
    const { models, session, promptCache, now } = this.#parts;
    const end = new AbortController();
    const { signal } = this.#abort;
    // Anthropic's cache key includes the budget for thinking, which a cap would change.
    const hasBudget = request.model.api === "anthropic-messages" && (request.thinking ?? "off") !== "off";
    let message = answer;
    for await (const event of models.stream({
      ...request,
      // An empty answer is no failure.
      purpose: "extension",
      ...(!hasBudget && { maxOutputTokens: 1 }),
      signal: AbortSignal.any([signal, end.signal]),
      ...{ onResponse: undefined, onVoidedUsage: undefined, onNotice: undefined },
      ...{ onRefusedImages: undefined, onRefusedSummary: undefined },
    })) {
      message = event.message;
      if (event.type === "error" && event.failure !== undefined) throw new Error(event.failure.message);
      if (hasBudget && event.type !== "start") end.abort();
    }
    if (signal.aborted) return false;
    const { provider, id: model } = request.model;
    session.append({ type: "usage", kind: "keep_warm", provider, model, usage: message.usage });
    this.#pause.requests += 1;
    this.#pause.usd += Math.max(this.#pause.readUsd, message.usage.cost.total);
    if (message.usage.cacheRead === 0) return false;
    promptCache.remember({ request, answer, atMs: now() });
    return true;
  }

  #notifyEnd(reason: string): void {
    const { requests, usd } = this.#pause;
    this.#parts.onNotice({
      level: "info",
      code: "keep_warm_ended",
      message: `Stopped keeping the provider's cache warm after ${counted(requests, "request")}, about ${usdText(usd)}. ${reason} If the cache expires, your next prompt pays for writing it again.`,
    });
  }
}

/** US dollars of reading a prefix once more, and of writing it again instead of reading it. Undefined if reading saves nothing. */
function keepWarmCosts({
  request,
  answer,
}: AnsweredRequest): { readUsd: number; rewriteUsd: number } | undefined {
  const { usdPerMillionTokens: prices, cacheRules = usualCacheRules } = request.model;
  const tokens = inputTokens(answer.usage);
  if (prices === undefined || tokens < cacheRules.minimumTokens) return undefined;
  const { input, output, cacheRead } = prices;
  // A price of 0 means that the model has no separate one.
  const write = prices.cacheWrite || input;
  if (cacheRead <= 0 || cacheRead >= write) return undefined;
  return {
    readUsd: (tokens * cacheRead + ANSWER_TOKENS * output) / MILLION,
    rewriteUsd: (tokens * (write - cacheRead)) / MILLION,
  };
}
