import type { SummaryRequest } from "@bonsai-agent/compaction";
import { cheaperWay, type ProviderRequest, prefixFits } from "@bonsai-agent/compaction/host";
import {
  type CacheRules,
  type Message,
  type ModelPrices,
  type ProviderSummary,
  tokenEstimator,
} from "@bonsai-agent/messages";

/** Tokens by price class. `input` excludes cached tokens. */
export interface ClassTokens {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

/** Number, cost and tokens of summary requests. */
export interface SummariesBill {
  requests: number;
  usd: number;
  tokens: ClassTokens;
}

interface BillOptions {
  /** US dollars per million tokens. */
  prices: ModelPrices;
  cacheRules: CacheRules;
  /** Tokens of system prompt and tools. */
  fixedTokens: number;
  /** Tokens that the provider counts per estimated token. */
  countRatio: number;
  windowTokens: number;
}

const MILLION = 1_000_000;
/** Maximum tokens of a usual summary. */
const SUMMARY_TOKENS = 2_000;
/** Output of a call that fetches lost content. */
const CALL_TOKENS = 100;

/** Counts the cost of requests at a provider with a prompt cache. Owner of the bill and of the cached prefix. */
export class Bill {
  /** Cost of the agent's own requests. */
  requestsUsd = 0;
  readonly tokens = noTokens();
  readonly summaries: SummariesBill = { requests: 0, usd: 0, tokens: noTokens() };
  /** Cost of the calls that fetch lost content. */
  lossesUsd = 0;
  readonly #options: BillOptions;
  /** The messages of the latest request. */
  #prefix: readonly Message[] = [];
  /** Ends of the requests with this prefix, as numbers of messages. */
  #ends: number[] = [];
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(options: BillOptions) {
    this.#options = options;
  }

  /** Tokens of a request with these messages, prompt and tools included. */
  size(sent: readonly Message[]): number {
    return sent.reduce((total, message) => total + this.tokensOf(message), this.#options.fixedTokens);
  }

  /** Adds a request with these messages and its answer. @returns its tokens */
  request(sent: readonly Message[], answer: Message, nowMs: number): ClassTokens {
    const { cached, all } = this.#count(sent, nowMs);
    const tokens = this.#classed(cached, all, this.tokensOf(answer));
    add(this.tokens, tokens);
    this.requestsUsd += usdOf(tokens, this.#options.prices);
    this.#keep(sent, nowMs);
    return tokens;
  }

  /** Adds a call that fetches lost content before the next request: a request with these messages, and its result. */
  fetch(sent: readonly Message[], resultTokens: number, nowMs: number): void {
    const { cached, all } = this.#count(sent, nowMs);
    this.lossesUsd += usdOf(this.#classed(cached, all + resultTokens, CALL_TOKENS), this.#options.prices);
    this.#keep(sent, nowMs);
  }

  /**
   * Adds a request for a summary, in the same way as the product: by the settings, else the cheaper one.
   * @returns takes the answer
   */
  summary(request: SummaryRequest, sent: readonly Message[], nowMs: number): (answer: string) => void {
    const { prompt, instruction = "", way, maxSummaryTokens } = request;
    const { prices, windowTokens, cacheRules } = this.#options;
    const { cached, all } = this.#count(sent, nowMs);
    const newTokens = all - cached + this.#textTokens(instruction);
    const serialisedTokens = this.#textTokens(prompt.system + prompt.user);
    const sizes = { windowTokens, cachedTokens: cached, newTokens, maxSummaryTokens };
    const isPossible = way !== "text" && instruction !== "" && cached > 0 && prefixFits(sizes);
    const ways = { ...sizes, serialisedTokens, prices, isAlwaysWritten: cacheRules.isAutomatic };
    const isOnPrefix = isPossible && (way === "cached" || cheaperWay(ways) === "cachedPrefix");
    return (written) => {
      const output = outputOf(written);
      const tokens = isOnPrefix
        ? this.#classed(cached, cached + newTokens, output)
        : this.#oneOff(serialisedTokens, output);
      this.#addSummary(tokens);
    };
  }

  /**
   * Adds a compaction by the provider. A sealed one is OpenAI's: its request has neither system prompt nor tools, so it
   * finds no prefix in the cache, and its answer repeats all user messages.
   * @returns takes the answer
   */
  providerSummary(
    { messages, instructions = "" }: Pick<ProviderRequest, "messages" | "instructions">,
    isSealed: boolean,
    nowMs: number,
  ): (answer: string) => ProviderSummary {
    const { cached, all } = this.#count(messages, nowMs);
    const sealed = messages.map(sealedSizes);
    const sealedTokens = Math.round(sum(sealed.map(({ tokens }) => tokens)) * this.#options.countRatio);
    return (written) => {
      const output = outputOf(written);
      const tokens = isSealed
        ? this.#oneOff(sealedTokens, output)
        : this.#classed(cached, all + this.#textTokens(instructions), output);
      this.#addSummary(tokens);
      const repeated = isSealed ? sum(sealed.map(({ repeated }) => repeated)) : 0;
      return { ...REPLAYED, items: [{ type: "compaction", repeated }], tokens: output + repeated, isSealed };
    };
  }

  #addSummary(tokens: ClassTokens): void {
    add(this.summaries.tokens, tokens);
    this.summaries.requests += 1;
    this.summaries.usd += usdOf(tokens, this.#options.prices);
  }

  /** A request without breakpoints. Only a server that marks the end of each request writes it to the cache. */
  #oneOff(input: number, output: number): ClassTokens {
    return this.#options.cacheRules.isAutomatic === true
      ? this.#classed(0, input, output)
      : { ...noTokens(), input, output };
  }

  #textTokens(text: string): number {
    return Math.round(tokenEstimator.text(text) * this.#options.countRatio);
  }

  /** Providers without a price for cache writes charge them as input. */
  #classed(cached: number, all: number, output: number): ClassTokens {
    const isWritten = this.#options.prices.cacheWrite > 0;
    const rest = all - cached;
    return { input: isWritten ? 0 : rest, cacheRead: cached, cacheWrite: isWritten ? rest : 0, output };
  }

  #count(sent: readonly Message[], nowMs: number): { cached: number; all: number } {
    const { keptMs, minimumTokens } = this.#options.cacheRules;
    const all = this.size(sent);
    if (nowMs - this.#atMs > keptMs) return { cached: 0, all };
    const cached = this.size(sent.slice(0, this.#readable(sent)));
    return { cached: cached < minimumTokens ? 0 : cached, all };
  }

  /**
   * Number of messages that the cache has. With breakpoints, it has the prefix only up to marked places: the ends of
   * system prompt, tools, summary and earlier requests. A message counts as one block.
   */
  #readable(sent: readonly Message[]): number {
    const { breakpoints = 0, lookbackBlocks = Number.POSITIVE_INFINITY } = this.#options.cacheRules;
    const same = sameMessages(sent, this.#prefix);
    if (breakpoints === 0) return same;
    const end = this.#ends.findLast((each) => each <= same && sent.length - each <= lookbackBlocks);
    return end ?? (same > 0 && sent[0]?.role === "compactionSummary" ? 1 : 0);
  }

  #keep(sent: readonly Message[], nowMs: number): void {
    const isExpired = nowMs - this.#atMs > this.#options.cacheRules.keptMs;
    const same = isExpired ? 0 : sameMessages(sent, this.#prefix);
    this.#ends = [...this.#ends.filter((end) => end <= same && end < sent.length), sent.length];
    this.#prefix = sent;
    this.#atMs = nowMs;
  }

  /** Tokens of one message. */
  tokensOf(message: Message): number {
    return Math.round(estimated(message) * this.#options.countRatio);
  }
}

function outputOf(written: string): number {
  return Math.min(SUMMARY_TOKENS, tokenEstimator.text(written));
}

/** Stands for the maker of a provider's summary. */
const REPLAYED = { api: "replayed", provider: "replayed", model: "replayed" };

/** Tokens of a message in a request for a sealed summary, and the part that the answer repeats. */
function sealedSizes(message: Message): { tokens: number; repeated: number } {
  if (message.role === "compactionSummary" && message.provider !== undefined) {
    const { items, tokens } = message.provider;
    return { tokens, repeated: (items[0] as { repeated: number }).repeated };
  }
  const tokens = estimated(message);
  return { tokens, repeated: message.role === "assistant" || message.role === "toolResult" ? 0 : tokens };
}

function sameMessages(sent: readonly Message[], prefix: readonly Message[]): number {
  const differs = sent.findIndex((message, at) => message !== prefix[at]);
  return differs < 0 ? sent.length : differs;
}

function estimated(message: Message): number {
  const tokens = counted.get(message) ?? tokenEstimator.message(message);
  counted.set(message, tokens);
  return tokens;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

const classes = ["input", "cacheRead", "cacheWrite", "output"] as const;

export function noTokens(): ClassTokens {
  return { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
}

/** Adds tokens to a total. */
export function add(total: ClassTokens, tokens: ClassTokens): void {
  for (const name of classes) total[name] += tokens[name];
}

function usdOf({ input, cacheRead, cacheWrite, output }: ClassTokens, prices: ModelPrices): number {
  const usd = input * prices.input + cacheRead * (prices.cacheRead || prices.input);
  return (usd + cacheWrite * (prices.cacheWrite || prices.input) + output * prices.output) / MILLION;
}

const counted = new WeakMap<Message, number>();
