import {
  CompactionController,
  type CompactionOutcome,
  type CompactionReason,
  type CompactionSettings,
  FileOperationCounter,
} from "@bonsai-agent/compaction";
import {
  type AssistantMessage,
  type CacheRules,
  emptyUsage,
  type Message,
  type ModelPrices,
  messageText,
  toolCalls,
  usualCacheRules,
} from "@bonsai-agent/messages";
import { createSession, type Session } from "@bonsai-agent/session";
import { Bill, type ClassTokens, type SummariesBill } from "./bill.ts";
import { ReplayClock } from "./clock.ts";
import { neededTerms, visibleTexts } from "./needed-terms.ts";
import type { Recording } from "./recording.ts";
import { ReplayedSummariser, type SummarySource } from "./summaries.ts";

export interface ReplayOptions {
  recording: Recording;
  settings: CompactionSettings;
  /** US dollars per million tokens. */
  prices: ModelPrices;
  /** Default: those of most providers. */
  cacheRules?: CacheRules;
  windowTokens: number;
  /** So long a model takes for a summary, in milliseconds, where none is asked. Default 25,000 */
  summaryMs?: number;
  /**
   * Who writes the summaries; paid for, and waited for, as a model's. `recorded`: those of the recording, where it has one
   * about there, else the digest. A summariser is asked in earnest. Default: `digest`
   */
  summaries?: SummarySource;
  /** Of the model that writes the summaries, where it is another one than the session's. */
  summaryPrices?: ModelPrices | undefined;
  /** True where the digest summarises, for nothing and at once. Default false. */
  isDigest?: boolean;
  /** So long the user rests before each prompt, beside what was recorded, in milliseconds. Default 0 */
  restMs?: number;
  /** Ends it. Default: nothing does */
  signal?: AbortSignal | undefined;
  /** False: decisions do not know the time, and so not when a cache has expired. Default true. */
  knowsTime?: boolean;
}

/** What a policy would have made of a recorded day. */
export interface Replay {
  requests: number;
  /** Number of times that Bonsai only masked and did not compact. */
  masks: number;
  compactions: Partial<Record<CompactionReason, number>>;
  /** Tokens of each request as it would have been sent, in order. */
  context: number[];
  /** Of the agent's own requests. */
  tokens: ClassTokens;
  /** What all of it costs. */
  usd: number;
  /** Of that, what summaries cost, with the tokens of the requests for them. */
  summaries: SummariesBill & { /** Taken from the recording. */ recorded: number };
  /** Of the terms that the future needs and the past had, the share in view: after each compaction, and at requests spread evenly. */
  neededAfter: number[];
  neededAlong: number[];
  /** Reads of files that had been read before, and whose result was no longer in view. */
  readAgain: number;
  /** Of the user's messages before each compaction, the share that stands in the context behind it. */
  wordsKept: number[];
  /** Requests that were above the window, whatever was done: no provider takes them. */
  tooLarge: number;
  /** Somebody waited for summaries. */
  waitedMs: number;
}

/** So many requests, evenly spread, are looked at. */
const PLACES = 10;
const SUMMARY_MS = 25_000;

/**
 * A recording once more, request by request, with the real decisions and the real flow: at each recorded answer, what the
 * policy would have sent. What the agent did stays as recorded. A request that is larger than the window is refused, as its
 * provider would.
 * @throws the signal's reason
 */
export async function replay(options: ReplayOptions): Promise<Replay> {
  const player = new Player(options);
  for (const [at, message] of options.recording.messages.entries()) {
    options.signal?.throwIfAborted();
    await player.play(message, at);
  }
  return player.result();
}

/** Owner of one replay: the session that it fills, its clock and its bill. */
class Player {
  readonly #options: ReplayOptions;
  readonly #session: Session = createSession({ cwd: "/" });
  readonly #bill: Bill;
  readonly #controller: CompactionController;
  readonly #slow: ReplayedSummariser;
  /** By file: the call that read it last. */
  readonly #read = new Map<string, string>();
  readonly #replay: Omit<Replay, "tokens" | "usd" | "summaries">;
  readonly #answers: number;
  #appended = 0;
  readonly #clock: ReplayClock;

  constructor(options: ReplayOptions) {
    const { recording, settings, prices, cacheRules = usualCacheRules, windowTokens } = options;
    const { fixedTokens, countRatio, messages, summaries: recorded = [] } = recording;
    const { summaries: source = "digest", summaryMs = SUMMARY_MS, summaryPrices } = options;
    this.#options = options;
    this.#clock = new ReplayClock(options.restMs ?? 0);
    this.#answers = messages.filter(({ role }) => role === "assistant").length;
    this.#bill = new Bill({ prices, cacheRules, fixedTokens, countRatio, summaryPrices });
    const onAsked = (text: string) => this.#bill.summary(this.#inView(), text, this.#clock.nowMs);
    this.#slow = new ReplayedSummariser({ source, recorded, summaryMs, onAsked });
    this.#controller = new CompactionController({
      session: this.#session,
      settings,
      summariser: options.isDigest ? undefined : this.#slow.summariser,
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
    await this.#slow.release(this.#clock.nowMs, at);
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
    // The agent rests, and nobody waits before he speaks again.
    const rests = this.#controller.checkThreshold({ site: "afterAnswer" });
    await this.#looked(rests, {
      at: at + 1,
      untilMs: next === undefined ? Number.POSITIVE_INFINITY : this.#clock.at(next),
    });
  }

  result(): Replay {
    const { tokens, requestsUsd, summaries } = this.#bill;
    const usd = requestsUsd + summaries.usd;
    return { ...this.#replay, tokens, usd, summaries: { ...summaries, recorded: this.#slow.taken } };
  }

  /** The provider takes no more than its window; nothing is paid for a refusal. */
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
    // Summaries name entries: with ids that come by chance, a replay would cost a little more or less each time.
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

  /** A call that reads what was read before counts where nobody sees the earlier result any more. */
  #countReads(answer: AssistantMessage): void {
    const calls = toolCalls(answer).flatMap((call) => {
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

/** Odd, so that no id comes twice. */
const ID_STEP = 2_654_435_761;
/** So much of a message stands for it. */
const WORDS_CHARS = 120;
