import {
  CompactionController,
  type CompactionOutcome,
  type CompactionReason,
  type CompactionSettings,
} from "@bonsai-agent/compaction";
import {
  type AssistantMessage,
  type CacheRules,
  emptyUsage,
  type Message,
  type ModelPrices,
  messageText,
  usualCacheRules,
} from "@bonsai-agent/messages";
import { createSession, type Session } from "@bonsai-agent/session";
import { Bill, type ClassTokens, type SummariesBill } from "./bill.ts";
import { visibleText } from "./needed-terms.ts";
import { RecordedUses } from "./recorded-uses.ts";
import type { Recording } from "./recording.ts";
import { type KnownProvider, ReplayedSummariser } from "./summaries.ts";

export interface ReplayOptions {
  recording: Recording;
  settings: CompactionSettings;
  /** US dollars per million tokens. */
  prices: ModelPrices;
  /** Default: `usualCacheRules`. */
  cacheRules?: CacheRules;
  windowTokens: number;
  /** The model's compaction on its provider's side. Default: none. */
  provider?: KnownProvider | undefined;
  /** Time of a summary in milliseconds. Default 25,000. */
  summaryMs?: number;
  /** Time added before each prompt, in milliseconds. Default 0. */
  restMs?: number;
  /** Cancels the replay. Default: none. */
  signal?: AbortSignal | undefined;
  /** False to hide the time from decisions, so that they cannot tell whether a cache has expired. Default true. */
  knowsTime?: boolean;
}

/** The outcome of a recorded day under a policy. */
export interface Replay {
  requests: number;
  /** Number of times that Bonsai only masked and did not compact. */
  masks: number;
  compactions: Partial<Record<CompactionReason, number>>;
  /** Tokens of each request as it would have been sent, in order. */
  context: number[];
  /** Tokens of the agent's own requests. */
  tokens: ClassTokens;
  /** Cost of all requests, with summaries and losses. */
  usd: number;
  /** The part of the cost for summaries. */
  summaries: SummariesBill;
  /** Share of the terms needed later that are in view: after each compaction, and at evenly spread requests. */
  neededAfter: number[];
  neededAlong: number[];
  /** Repeated reads of files whose earlier result was no longer in view. */
  readAgain: number;
  /** Recalls of needed terms that were nowhere in view. */
  recalls: number;
  /** The part of the cost for these reads and recalls. */
  lossesUsd: number;
  /** Share of the earlier user messages that are in view after each compaction. */
  wordsKept: number[];
  /** Requests above the window after everything was tried. */
  tooLarge: number;
  /** Time that the user would have waited for summaries. */
  waitedMs: number;
}

/** Usual size of a recall's answer. */
const RECALL_TOKENS = 1_000;
/** Number of requests at which the needed terms are counted. */
const PLACES = 10;
const SUMMARY_MS = 25_000;

/**
 * Replays a recording request by request, with the real compaction flow. The agent's actions stay as recorded. A request
 * above the window is refused, as by a provider.
 *
 * The model of costs: each recorded answer pays for the messages in view, by the provider's prices and cache rules. A
 * summary is one more request. A lost message has a price, too. If the recording reads a file again and the earlier
 * result is no longer in view, the replay pays one more request with that result. If the recording uses a term of an
 * earlier message and no message in view contains it, the replay pays one more request with a recall's answer. The answer
 * stays in view until the next compaction. The user does not wait for these requests in the reported time.
 * @throws the signal's reason after an abort
 */
export async function replay(options: ReplayOptions): Promise<Replay> {
  const player = new Player(options);
  for (const [at, message] of options.recording.messages.entries()) {
    options.signal?.throwIfAborted();
    await player.play(message, at);
  }
  return player.result();
}

/** Owner of one replay: its session, its clock and its bill. */
class Player {
  readonly #options: ReplayOptions;
  readonly #session: Session = createSession({ cwd: "/" });
  readonly #bill: Bill;
  readonly #controller: CompactionController;
  readonly #slow: ReplayedSummariser;
  readonly #uses: RecordedUses;
  /** Index of the recorded message of each entry. */
  readonly #places = new Map<string, number>();
  /** Terms that a recall brought back since the latest compaction. */
  readonly #recalled = new Set<string>();
  readonly #replay: Omit<Replay, "tokens" | "usd" | "lossesUsd" | "summaries">;
  readonly #answers: number;
  /** True once something left the view. */
  #hasLosses = false;
  /** Index of the latest answer. */
  #answeredAt = -1;
  readonly #clock: RecordedClock;

  constructor(options: ReplayOptions) {
    const { recording, settings, prices, cacheRules = usualCacheRules, windowTokens } = options;
    const { fixedTokens, countRatio, messages } = recording;
    const { summaryMs = SUMMARY_MS, provider } = options;
    this.#options = options;
    this.#uses = usesOf(recording);
    this.#clock = new RecordedClock(options.restMs ?? 0);
    this.#answers = messages.filter(({ role }) => role === "assistant").length;
    this.#bill = new Bill({ prices, cacheRules, fixedTokens, countRatio, windowTokens });
    this.#slow = new ReplayedSummariser({
      summaryMs,
      provider,
      onAsked: (request) => this.#bill.summary(request, this.#inView(), this.#clock.nowMs),
      onProviderAsked: (request) =>
        this.#bill.providerSummary(request, provider?.isSealed === true, this.#clock.nowMs),
    });
    this.#controller = new CompactionController({
      session: this.#session,
      settings,
      summariser: this.#slow.summariser,
      model: () => ({ contextWindow: windowTokens, usdPerMillionTokens: prices, cacheRules }),
      now: () => (options.knowsTime === false ? 0 : this.#clock.nowMs),
    });
    this.#replay = {
      ...{ requests: 0, masks: 0, compactions: {}, context: [], neededAfter: [], neededAlong: [] },
      ...{ readAgain: 0, recalls: 0, wordsKept: [], tooLarge: 0, waitedMs: 0 },
    };
  }

  async play(recorded: Message, at: number): Promise<void> {
    const { messages } = this.#options.recording;
    if (recorded.role === "user") this.#controller.userMessageArrived();
    this.#clock.advance(recorded);
    await this.#slow.release(this.#clock.nowMs);
    const { nowMs } = this.#clock;
    // The same object keeps its estimates for the next replay.
    const message = recorded.timestamp === nowMs ? recorded : { ...recorded, timestamp: nowMs };
    if (message.role !== "assistant") {
      this.#append(message, at);
      return;
    }
    const site = messages[at - 1]?.role === "toolResult" ? "betweenTools" : "beforePrompt";
    await this.#looked(this.#controller.checkThreshold({ site }), { at });
    await this.#refused(at);
    this.#answer(message, at);
    const next = messages[at + 1];
    if (next?.role === "toolResult") return;
    // The user waits only from the next prompt on.
    const rests = this.#controller.checkThreshold({ site: "afterAnswer" });
    await this.#looked(rests, {
      at: at + 1,
      untilMs: next === undefined ? Number.POSITIVE_INFINITY : this.#clock.at(next),
    });
  }

  result(): Replay {
    const { tokens, requestsUsd, summaries, lossesUsd } = this.#bill;
    return { ...this.#replay, tokens, usd: requestsUsd + summaries.usd + lossesUsd, lossesUsd, summaries };
  }

  /** Compacts after a refusal by the provider, which costs nothing. */
  async #refused(at: number): Promise<void> {
    const inputTokens = this.#bill.size(this.#inView());
    if (inputTokens <= this.#options.windowTokens) return;
    await this.#looked(this.#controller.recoverFromOverflow({ refusal: { inputTokens } }), { at });
    if (this.#bill.size(this.#inView()) > this.#options.windowTokens) this.#replay.tooLarge += 1;
  }

  async #looked(
    look: Promise<CompactionOutcome>,
    { at, untilMs = this.#clock.nowMs }: { at: number; untilMs?: number },
  ): Promise<void> {
    this.#replay.waitedMs += await this.#slow.waitedFor(look, untilMs);
    const { status, reason } = await look;
    this.#hasLosses ||= status === "masked" || status === "compacted";
    if (status === "masked") this.#replay.masks += 1;
    if (status !== "compacted") return;
    this.#recalled.clear();
    this.#replay.compactions[reason] = (this.#replay.compactions[reason] ?? 0) + 1;
    this.#replay.neededAfter.push(...this.#needed(at));
    this.#replay.wordsKept.push(...this.#wordsKept(at));
  }

  #answer(recorded: AssistantMessage, at: number): void {
    const replay = this.#replay;
    this.#fetchLosses(at);
    const tokens = this.#bill.request(this.#inView(), recorded, this.#clock.nowMs);
    const sent = tokens.input + tokens.cacheRead + tokens.cacheWrite;
    const usage = { ...emptyUsage(), ...tokens, totalTokens: sent + tokens.output };
    this.#append({ ...recorded, stopReason: "stop", usage }, at);
    this.#answeredAt = at;
    this.#controller.answerArrived();
    replay.requests += 1;
    replay.context.push(sent);
    if (replay.requests % Math.ceil(this.#answers / (PLACES + 1)) === 0)
      replay.neededAlong.push(...this.#needed(at));
  }

  #append(message: Message, at: number): void {
    // Summaries contain ids. Fixed ids make every replay cost the same.
    const id = (Math.imul(at + 1, ID_STEP) >>> 0).toString(16).padStart(8, "0");
    this.#places.set(id, at);
    this.#session.append({ type: "message", id, message: message as never });
  }

  #inView(): Message[] {
    return this.#session.projection().items.map(({ message }) => message);
  }

  /** The recorded messages in view, and the texts of the other ones: summaries and shortened messages. */
  #sight(): Sight {
    const sight: Sight = { places: new Set(), texts: [] };
    for (const { entryId, edit, message } of this.#session.projection().items) {
      const at = edit === undefined ? this.#places.get(entryId) : undefined;
      if (at !== undefined) sight.places.add(at);
      else sight.texts.push(visibleText(message));
    }
    return sight;
  }

  #isSeen(term: string, { places, texts }: Sight, before = Number.POSITIVE_INFINITY): boolean {
    return (
      this.#uses.places(term).some((at) => at < before && places.has(at)) ||
      texts.some((text) => text.includes(term))
    );
  }

  #needed(at: number): number[] {
    const terms = this.#uses.neededFrom(at);
    if (terms.length === 0) return [];
    const sight = this.#sight();
    return [terms.filter((term) => this.#isSeen(term, sight)).length / terms.length];
  }

  #wordsKept(at: number): number[] {
    const { messages } = this.#options.recording;
    const { places, texts } = this.#sight();
    const said = messages.slice(0, at).flatMap((message, place) => {
      const text = message.role === "user" ? messageText(message).trim().slice(0, WORDS_CHARS) : "";
      return text === "" ? [] : [{ text, place }];
    });
    if (said.length === 0) return [];
    const isShown = ({ text, place }: (typeof said)[number]) =>
      places.has(place) || texts.some((shown) => shown.includes(text));
    return [said.filter(isShown).length / said.length];
  }

  /** Pays for the content that an answer, and the messages since the one before it, use from outside the view. */
  #fetchLosses(at: number): void {
    if (!this.#hasLosses) return;
    const from = this.#answeredAt + 1;
    const uses = this.#uses;
    const sight = this.#sight();
    const fetch = (tokens: number) => this.#bill.fetch(this.#inView(), tokens, this.#clock.nowMs);
    for (const { earlier, result } of uses.repeatedReads[at]!) {
      if (sight.places.has(earlier)) continue;
      this.#replay.readAgain += 1;
      fetch(this.#bill.tokensOf(this.#options.recording.messages[result]!));
    }
    for (let use = from; use <= at; use += 1)
      for (const term of uses.terms[use]!) {
        if (this.#recalled.has(term) || this.#isSeen(term, sight, use)) continue;
        this.#recalled.add(term);
        this.#replay.recalls += 1;
        fetch(RECALL_TOKENS);
      }
  }
}

interface Sight {
  places: Set<number>;
  texts: string[];
}

/** Keeps the uses of a recording, because several policies replay it. */
const knownUses = new WeakMap<Recording, RecordedUses>();

function usesOf(recording: Recording): RecordedUses {
  const uses = knownUses.get(recording) ?? new RecordedUses(recording.messages);
  knownUses.set(recording, uses);
  return uses;
}

/** Odd, so that no id repeats. */
const ID_STEP = 2_654_435_761;
/** Characters of a message that must be in view. */
const WORDS_CHARS = 120;

/** Maximum credible time between two messages. A longer one comes from a changed clock or damage. */
const MAX_GAP_MS = 30 * 24 * 60 * 60_000;
/** Minimum time of an answer. */
const MIN_ANSWER_MS = 1_000;
/** Time of an answer if the recording has none. */
const USUAL_ANSWER_MS = 10_000;

/** The clock of a replay: the recorded times, where they are credible. It always moves forward. */
class RecordedClock {
  /** Milliseconds. */
  nowMs = 0;
  readonly #restMs: number;
  #recordedMs: number | undefined;

  /** @param restMs added before each user message, in milliseconds */
  constructor(restMs: number) {
    this.#restMs = restMs;
  }

  /** Moves to a message. */
  advance(message: Message): void {
    this.nowMs = this.at(message);
    const { timestamp } = message;
    if (isTime(timestamp)) this.#recordedMs = timestamp;
  }

  /** The time of the next message. */
  at({ role, timestamp }: Message): number {
    const rest = role === "user" ? this.#restMs : 0;
    if (this.#recordedMs === undefined && isTime(timestamp)) return timestamp + rest;
    const passed = isTime(timestamp) ? timestamp - this.#recordedMs! : Number.NaN;
    const isKnown = passed >= 0 && passed <= MAX_GAP_MS;
    if (role !== "assistant") return this.nowMs + rest + (isKnown ? passed : 0);
    // An answer that took no time was recorded without one.
    return this.nowMs + (isKnown && passed > 0 ? Math.max(MIN_ANSWER_MS, passed) : USUAL_ANSWER_MS);
  }
}

function isTime(timestamp: unknown): timestamp is number {
  return typeof timestamp === "number" && Number.isFinite(timestamp) && timestamp >= 0;
}
