import {
  type AssistantMessage,
  byScript,
  byScriptEstimator,
  emptyUsage,
  type Message,
  type ModelPrices,
  usualCacheRules,
} from "@bonsai-agent/messages";
import { createSession, type ProjectionItem } from "@bonsai-agent/session";
import { neededTerms } from "@bonsai-agent/testkit";
import {
  CompactionController,
  type CompactionSettings,
  type CompactionSite,
  digestSummariser,
  type Summariser,
  type SummaryRequest,
} from "../src/index.ts";
import { visibleTexts } from "./played-session.ts";

export interface PlayedDay {
  requests: number;
  compactions: number;
  /** Times that nothing but masks was needed. */
  maskings: number;
  highestTokens: number;
  usd: number;
  /** Of the terms that the future needs and the past had, the share that the context shows: right after each compaction. */
  neededAfter: number[];
  /** The same at evenly spread requests, compacted before or not. */
  neededAlong: number[];
}

export interface PlayDayOptions {
  /** As recorded, oldest first. */
  messages: readonly Message[];
  settings: CompactionSettings;
  prices: ModelPrices;
  windowTokens: number;
  /** System prompt and tools, which are sent with every request. */
  fixedTokens: number;
  /** The recorded usage of other programs says that the plain count is so much too low. */
  countRatio: number;
  /** So long the user rests before each prompt, beside what was recorded. Default 0. */
  restMs?: number;
  /** False: the decisions do not know the time, and so not when a cache has expired. Default true. */
  knowsTime?: boolean;
}

const PLACES = 10;
/** A summary of usual length, which a model would have written. */
const SUMMARY_TOKENS = 2_000;
const INSTRUCTION_TOKENS = 1_000;
const MILLION = 1_000_000;

/**
 * A recorded day once more, request by request, with the real decisions and the real flow. Summaries are those of the
 * digest and are paid for as a model's. What is sent is priced by prefix, under the usual rules of a cache.
 */
export async function playDay(options: PlayDayOptions): Promise<PlayedDay> {
  const { messages, settings, prices, windowTokens, restMs = 0, knowsTime = true } = options;
  const session = createSession({ cwd: "/home/dev/project" });
  const server = new PricedServer(options);
  const day: PlayedDay = {
    requests: 0,
    compactions: 0,
    maskings: 0,
    highestTokens: 0,
    usd: 0,
    neededAfter: [],
    neededAlong: [],
  };
  let nowMs = 0;
  let restedMs = 0;
  const items = () => session.projection().items;
  const digest = digestSummariser();
  const summariser: Summariser = {
    ...digest,
    name: "priced",
    summarise(request) {
      server.summarise(items(), request, nowMs);
      return digest.summarise(request);
    },
  };
  const controller = new CompactionController({
    session,
    settings,
    summariser,
    model: () => ({ contextWindow: windowTokens, usdPerMillionTokens: prices }),
    now: () => (knowsTime ? nowMs : 0),
  });
  const answers = messages.filter(({ role }) => role === "assistant").length;
  const needed = (at: number): number[] => {
    const terms = neededTerms(visibleTexts(messages.slice(0, at)), messages.slice(at));
    const shown = visibleTexts(items().map(({ message }) => message));
    return terms.length === 0 ? [] : [terms.filter((term) => shown.includes(term)).length / terms.length];
  };
  for (const [at, recorded] of messages.entries()) {
    if (recorded.role === "user") {
      restedMs += restMs;
      controller.userMessageArrived();
    }
    nowMs = (recorded.timestamp ?? 0) + restedMs;
    const message = { ...recorded, timestamp: nowMs };
    if (message.role !== "assistant") {
      session.append({ type: "message", message: message as never });
      continue;
    }
    const site: CompactionSite = messages[at - 1]?.role === "toolResult" ? "betweenTools" : "beforePrompt";
    const { status } = await controller.checkThreshold({ site });
    if (status === "compacted") {
      day.compactions += 1;
      day.neededAfter.push(...needed(at));
    }
    if (status === "masked") day.maskings += 1;
    const answer = server.answer(items(), message, nowMs);
    session.append({ type: "message", message: answer as never });
    controller.answerArrived();
    day.requests += 1;
    day.highestTokens = Math.max(day.highestTokens, answer.usage.totalTokens ?? 0);
    if (day.requests % Math.ceil(answers / (PLACES + 1)) === 0) day.neededAlong.push(...needed(at));
  }
  return { ...day, usd: server.usd };
}

/** A server that remembers the latest prefix for as long as the rules say. Owner of the bill. */
class PricedServer {
  usd = 0;
  readonly #options: PlayDayOptions;
  #prefix: readonly Message[] = [];
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(options: PlayDayOptions) {
    this.#options = options;
  }

  /** The recorded answer, with the usage that this request would have had. */
  answer(items: readonly ProjectionItem[], answer: AssistantMessage, nowMs: number): AssistantMessage {
    const sent = items.map(({ message }) => message);
    const { cached, all } = this.#count(sent, nowMs);
    const output = this.#tokens(answer);
    const { prices } = this.#options;
    const written = prices.cacheWrite || prices.input;
    this.#pay(cached * prices.cacheRead + (all - cached) * written + output * prices.output);
    this.#prefix = sent;
    this.#atMs = nowMs;
    const usage = { ...emptyUsage(), cacheRead: cached, cacheWrite: all - cached, output };
    return { ...answer, stopReason: "stop", usage: { ...usage, totalTokens: all + output } };
  }

  /** From the cached prefix, or as text, whichever costs less. */
  summarise(items: readonly ProjectionItem[], { prompt }: SummaryRequest, nowMs: number): void {
    const { input, output, cacheRead, cacheWrite } = this.#options.prices;
    const { cached, all } = this.#count(
      items.map(({ message }) => message),
      nowMs,
    );
    const onPrefix = cached * cacheRead + (all - cached + INSTRUCTION_TOKENS) * (cacheWrite || input);
    const textTokens = byScript(prompt.system) + byScript(prompt.user);
    const asText = textTokens * this.#options.countRatio * input;
    this.#pay(Math.min(onPrefix, asText) + SUMMARY_TOKENS * output);
  }

  #count(sent: readonly Message[], nowMs: number): { cached: number; all: number } {
    const { fixedTokens } = this.#options;
    const isKept = nowMs - this.#atMs <= usualCacheRules.keptMs;
    const differs = sent.findIndex((message, at) => message !== this.#prefix[at]);
    const same = isKept ? sent.slice(0, differs < 0 ? sent.length : differs) : [];
    const sum = (of: readonly Message[]) =>
      of.reduce((total, message) => total + this.#tokens(message), fixedTokens);
    const cached = isKept ? sum(same) : 0;
    return { cached: cached < usualCacheRules.minimumTokens ? 0 : cached, all: sum(sent) };
  }

  #tokens(message: Message): number {
    const tokens = counted.get(message) ?? byScriptEstimator.message(message);
    counted.set(message, tokens);
    return Math.round(tokens * this.#options.countRatio);
  }

  #pay(price: number): void {
    this.usd += price / MILLION;
  }
}

const counted = new WeakMap<Message, number>();
