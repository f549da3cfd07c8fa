import {
  CompactionController,
  type CompactionOutcome,
  type CompactionReason,
  type CompactionSettings,
} from "@bonsai-agent/compaction";
import { FileOperationCounter } from "@bonsai-agent/compaction/host";
import {
  type AssistantMessage,
  type CacheRules,
  callsIn,
  emptyUsage,
  type Message,
  type ModelPrices,
  messageText,
  usualCacheRules,
} from "@bonsai-agent/messages";
import { createSession, type Session } from "@bonsai-agent/session";
import { Bill, type ClassTokens, type SummariesBill } from "./bill.ts";
import { neededTerms, visibleTexts } from "./needed-terms.ts";
import type { Recording } from "./recording.ts";
import { ReplayedSummariser } from "./summaries.ts";

export interface ReplayOptions {
  recording: Recording;
  settings: CompactionSettings;
  /** US dollars per million tokens. */
  prices: ModelPrices;
  /** Default: `usualCacheRules`. */
  cacheRules?: CacheRules;
  windowTokens: number;
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
  /** Cost of all requests. */
  usd: number;
  /** The part of the cost for summaries. */
  summaries: SummariesBill;
  /** Share of the terms needed later that are in view: after each compaction, and at evenly spread requests. */
  neededAfter: number[];
  neededAlong: number[];
  /** Repeated reads of files whose earlier result was no longer in view. */
  readAgain: number;
  /** Share of the earlier user messages that are in view after each compaction. */
  wordsKept: number[];
  /** Requests above the window after everything was tried. */
  tooLarge: number;
  /** Time that the user would have waited for summaries. */
  waitedMs: number;
}

/** Number of requests at which the needed terms are counted. */
const PLACES = 10;
const SUMMARY_MS = 25_000;

/**
 * Replays a recording request by request, with the real compaction flow: counts what the policy would have sent at each
 * recorded answer. The agent's actions stay as recorded. A request above the window is refused, as by a provider.
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
  /** The call that read each file last. */
  readonly #read = new Map<string, string>();
  readonly #replay: Omit<Replay, "tokens" | "usd" | "summaries">;
  readonly #answers: number;
  #appended = 0;
  readonly #clock: RecordedClock;

  constructor(options: ReplayOptions) {
    const { recording, settings, prices, cacheRules = usualCacheRules, windowTokens } = options;
    const { fixedTokens, countRatio, messages } = recording;
    const { summaryMs = SUMMARY_MS } = options;
    this.#options = options;
    this.#clock = new RecordedClock(options.restMs ?? 0);
    this.#answers = messages.filter(({ role }) => role === "assistant").length;
    this.#bill = new Bill({ prices, cacheRules, fixedTokens, countRatio });
    const onAsked = (text: string) => this.#bill.summary(this.#inView(), text, this.#clock.nowMs);
    this.#slow = new ReplayedSummariser({ summaryMs, onAsked });
    this.#controller = new CompactionController({
      session: this.#session,
      settings,
      summariser: this.#slow.summariser,
      model: () => ({ contextWindow: windowTokens, usdPerMillionTokens: prices, cacheRules }),
      now: () => (options.knowsTime === false ? 0 : this.#clock.nowMs),
    });
    this.#replay = {
      ...{ requests: 0, masks: 0, compactions: {}, context: [], neededAfter: [], neededAlong: [] },
      ...{ readAgain: 0, wordsKept: [], tooLarge: 0, waitedMs: 0 },
    };
  }

  async play(recorded: Message, at: number): Promise<void> {
    const { messages } = this.#options.recording;
    if (recorded.role === "user") this.#controller.userMessageArrived();
    this.#clock.advance(recorded);
    await this.#slow.release(this.#clock.nowMs);
    const message = { ...recorded, timestamp: this.#clock.nowMs };
    if (message.role !== "assistant") {
      this.#append(message);
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
    const { tokens, requestsUsd, summaries } = this.#bill;
    return { ...this.#replay, tokens, usd: requestsUsd + summaries.usd, summaries };
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
    if (status === "masked") this.#replay.masks += 1;
    if (status !== "compacted") return;
    this.#replay.compactions[reason] = (this.#replay.compactions[reason] ?? 0) + 1;
    this.#replay.neededAfter.push(...this.#needed(at));
    this.#replay.wordsKept.push(...this.#wordsKept(at));
  }

  #answer(recorded: AssistantMessage, at: number): void {
    const replay = this.#replay;
    this.#countReads(recorded);
    const tokens = this.#bill.request(this.#inView(), recorded, this.#clock.nowMs);
    const sent = tokens.input + tokens.cacheRead + tokens.cacheWrite;
    const usage = { ...emptyUsage(), ...tokens, totalTokens: sent + tokens.output };
    this.#append({ ...recorded, stopReason: "stop", usage });
    this.#controller.answerArrived();
    replay.requests += 1;
    replay.context.push(sent);
    if (replay.requests % Math.ceil(this.#answers / (PLACES + 1)) === 0)
      replay.neededAlong.push(...this.#needed(at));
  }

  #append(message: Message): void {
    // Summaries contain ids. Fixed ids make every replay cost the same.
    this.#appended += 1;
    const id = Math.imul(this.#appended, ID_STEP) >>> 0;
    const draft = {
      type: "message",
      id: id.toString(16).padStart(8, "0"),
      message: message as never,
    } as const;
    this.#session.append(draft);
  }

  #inView(): Message[] {
    return this.#session.projection().items.map(({ message }) => message);
  }

  #needed(at: number): number[] {
    const { messages } = this.#options.recording;
    const terms = neededTerms(visibleTexts(messages.slice(0, at)), messages.slice(at));
    if (terms.length === 0) return [];
    const shown = visibleTexts(this.#inView());
    return [terms.filter((term) => shown.includes(term)).length / terms.length];
  }

  #wordsKept(at: number): number[] {
    const said = this.#options.recording.messages.slice(0, at).filter(({ role }) => role === "user");
    const texts = said.map((message) => messageText(message).trim().slice(0, WORDS_CHARS)).filter(Boolean);
    if (texts.length === 0) return [];
    const shown = visibleTexts(this.#inView());
    return [texts.filter((text) => shown.includes(text)).length / texts.length];
  }

  /** Counts reads of files whose earlier result is no longer in view. */
  #countReads(answer: AssistantMessage): void {
    const calls = callsIn(answer).flatMap((call) => {
      const counter = new FileOperationCounter();
      counter.add({ ...answer, content: [call] });
      return counter.operations().read.map((file) => ({ file, id: call.id }));
    });
    if (calls.length === 0) return;
    const shown = new Set(
      this.#session
        .projection()
        .items.flatMap(({ message, edit }) =>
          message.role === "toolResult" && edit === undefined ? [message.toolCallId] : [],
        ),
    );
    for (const { file, id } of calls) {
      const earlier = this.#read.get(file);
      if (earlier !== undefined && !shown.has(earlier)) this.#replay.readAgain += 1;
      this.#read.set(file, id);
    }
  }
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
