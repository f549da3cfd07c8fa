import {
  CompactionController,
  type CompactionReason,
  type CompactionSettings,
  type CompactionSite,
  digestSummariser,
  FileOperationCounter,
  type Summariser,
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
import { Bill, type ClassTokens } from "./bill.ts";
import { neededTerms, visibleTexts } from "./needed-terms.ts";
import type { Recording } from "./recording.ts";

export interface ReplayOptions {
  recording: Recording;
  settings: CompactionSettings;
  /** US dollars per million tokens. */
  prices: ModelPrices;
  /** Default: those of most providers. */
  cacheRules?: CacheRules;
  windowTokens: number;
  /** So long a model takes for a summary, in milliseconds. Default 25,000 */
  summaryMs?: number;
  /** True where the digest summarises, for nothing and at once. Default false. */
  isDigest?: boolean;
  /** So long the user rests before each prompt, beside what was recorded, in milliseconds. Default 0 */
  restMs?: number;
  /** False: decisions do not know the time, and so not when a cache has expired. Default true. */
  knowsTime?: boolean;
}

/** What a policy would have made of a recorded day. */
export interface Replay {
  requests: number;
  /** Times that nothing but masks was written. */
  masks: number;
  compactions: Partial<Record<CompactionReason, number>>;
  /** Tokens of each request as it would have been sent, in order. */
  context: number[];
  tokens: ClassTokens;
  usd: number;
  /** Of that, for summaries. */
  summariesUsd: number;
  /** Of the terms that the future needs and the past had, the share in view: after each compaction, and at requests spread evenly. */
  neededAfter: number[];
  neededAlong: number[];
  /** Reads of files that had been read before, and whose result was no longer in view. */
  readAgain: number;
  /** Of the user's messages before each compaction, the share that stands in the context behind it. */
  wordsKept: number[];
  /** Somebody waited for summaries. */
  waitedMs: number;
}

/** So many requests, evenly spread, are looked at. */
const PLACES = 10;
const SUMMARY_MS = 25_000;

/**
 * A recording once more, request by request, with the real decisions and the real flow: at each recorded answer, what the
 * policy would have sent. What the agent did stays as recorded. Summaries are those of the digest, and are paid for, and
 * waited for, as a model's.
 */
export async function replay(options: ReplayOptions): Promise<Replay> {
  const player = new Player(options);
  for (const [at, message] of options.recording.messages.entries()) await player.play(message, at);
  return player.result();
}

/** Owner of one replay: the session that it fills, its clock and its bill. */
class Player {
  readonly #options: ReplayOptions;
  readonly #session: Session = createSession({ cwd: "/" });
  readonly #bill: Bill;
  readonly #controller: CompactionController;
  readonly #slow: SlowSummariser;
  readonly #read = new Map<string, string>();
  readonly #replay: Omit<Replay, "tokens" | "usd" | "summariesUsd">;
  readonly #answers: number;
  #nowMs = 0;
  #restedMs = 0;

  constructor(options: ReplayOptions) {
    const { recording, settings, prices, cacheRules = usualCacheRules, windowTokens } = options;
    const { fixedTokens, countRatio, messages } = recording;
    this.#options = options;
    this.#answers = messages.filter(({ role }) => role === "assistant").length;
    this.#bill = new Bill({ prices, cacheRules, fixedTokens, countRatio });
    this.#slow = new SlowSummariser(options.summaryMs ?? SUMMARY_MS, (text) =>
      this.#bill.summary(this.#inView(), text, this.#nowMs),
    );
    this.#controller = new CompactionController({
      session: this.#session,
      settings,
      summariser: options.isDigest ? undefined : this.#slow.summariser,
      model: () => ({ contextWindow: windowTokens, usdPerMillionTokens: prices, cacheRules }),
      now: () => (options.knowsTime === false ? 0 : this.#nowMs),
    });
    this.#replay = {
      ...{ requests: 0, masks: 0, compactions: {}, context: [], neededAfter: [], neededAlong: [] },
      ...{ readAgain: 0, wordsKept: [], waitedMs: 0 },
    };
  }

  async play(recorded: Message, at: number): Promise<void> {
    const { messages } = this.#options.recording;
    if (recorded.role === "user") {
      this.#restedMs += this.#options.restMs ?? 0;
      this.#controller.userMessageArrived();
    }
    this.#nowMs = Math.max(this.#nowMs, (recorded.timestamp ?? 0) + this.#restedMs);
    this.#slow.release(this.#nowMs);
    const message = { ...recorded, timestamp: this.#nowMs };
    if (message.role !== "assistant") {
      this.#append(message);
      return;
    }
    const site = messages[at - 1]?.role === "toolResult" ? "betweenTools" : "beforePrompt";
    await this.#look(site, at);
    this.#answer(message, at);
  }

  result(): Replay {
    const { tokens, usd, summariesUsd } = this.#bill;
    return { ...this.#replay, tokens, usd, summariesUsd };
  }

  async #look(site: CompactionSite, at: number): Promise<void> {
    const checked = this.#controller.checkThreshold({ site });
    this.#replay.waitedMs += await this.#slow.waitedFor(checked, this.#nowMs);
    const { status, reason } = await checked;
    if (status === "masked") this.#replay.masks += 1;
    if (status !== "compacted") return;
    this.#replay.compactions[reason] = (this.#replay.compactions[reason] ?? 0) + 1;
    this.#replay.neededAfter.push(...this.#needed(at));
    this.#replay.wordsKept.push(...this.#wordsKept(at));
  }

  #answer(recorded: AssistantMessage, at: number): void {
    const replay = this.#replay;
    this.#countReads(recorded);
    const tokens = this.#bill.request(this.#inView(), recorded, this.#nowMs);
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
    this.#session.append({ type: "message", message: message as never });
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
    const counter = new FileOperationCounter();
    counter.add(answer);
    const { read } = counter.operations();
    if (read.length === 0) return;
    const shown = new Set(this.#inView().map((message) => message.timestamp));
    for (const file of read) {
      const earlier = this.#read.get(file);
      if (earlier !== undefined && !shown.has(Number(earlier))) this.#replay.readAgain += 1;
      this.#read.set(file, String(this.#nowMs));
    }
  }
}

/** So much of a message stands for it. */
const WORDS_CHARS = 120;

/** The digest, as slow as a model: its answers come when the recorded clock has come so far, or when somebody waits for them. */
class SlowSummariser {
  readonly summariser: Summariser;
  readonly #waiting: Array<{ readyMs: number; answer: () => void }> = [];
  #nowMs = 0;

  constructor(summaryMs: number, onAsked: (text: string) => void) {
    const digest = digestSummariser();
    this.summariser = {
      ...digest,
      name: "replayed/summariser",
      summarise: async (request) => {
        onAsked(`${request.prompt.system}${request.prompt.user}`);
        await new Promise<void>((resolve) => {
          this.#waiting.push({ readyMs: this.#nowMs + summaryMs, answer: resolve });
          request.signal.addEventListener("abort", () => resolve(), { once: true });
        });
        return digest.summarise(request);
      },
    };
  }

  /** Lets all go that are ready by then. */
  release(nowMs: number): void {
    this.#nowMs = nowMs;
    const ready = this.#waiting.filter(({ readyMs }) => readyMs <= nowMs);
    for (const each of ready) this.#waiting.splice(this.#waiting.indexOf(each), 1);
    for (const { answer } of ready) answer();
  }

  /** Lets those go that a look waits for. @returns how long that would have been, in milliseconds */
  async waitedFor(look: Promise<unknown>, nowMs: number): Promise<number> {
    let isOver = false;
    void look.finally(() => {
      isOver = true;
    });
    let waitedMs = 0;
    for (;;) {
      for (let turn = 0; turn < TURNS && !isOver; turn += 1) await new Promise(setImmediate);
      const next = this.#waiting[0];
      if (isOver || next === undefined) return waitedMs;
      waitedMs = Math.max(waitedMs, next.readyMs - nowMs);
      this.#waiting.shift();
      next.answer();
    }
  }
}

/** Of the event loop: whatever needs no model has ended by then. */
const TURNS = 3;
