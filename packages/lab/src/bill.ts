import { type CacheRules, type Message, type ModelPrices, tokenEstimator } from "@bonsai-agent/messages";

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
}

const MILLION = 1_000_000;
/** Tokens of a summary request without the conversation, and maximum tokens of a usual summary. */
const INSTRUCTION_TOKENS = 1_000;
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
  #prefix: readonly Message[] = [];
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
    this.#prefix = sent;
    this.#atMs = nowMs;
    return tokens;
  }

  /** Adds a call that fetches lost content before the next request: a request with these messages, and its result. */
  fetch(sent: readonly Message[], resultTokens: number, nowMs: number): void {
    const { cached, all } = this.#count(sent, nowMs);
    this.lossesUsd += usdOf(this.#classed(cached, all + resultTokens, CALL_TOKENS), this.#options.prices);
    this.#prefix = sent;
    this.#atMs = nowMs;
  }

  /**
   * Adds a summary request: on the cached prefix or with the conversation as text, whichever costs less.
   * @returns takes the answer
   */
  summary(sent: readonly Message[], text: string, nowMs: number): (answer: string) => void {
    const { prices, countRatio } = this.#options;
    const { cached, all } = this.#count(sent, nowMs);
    const textTokens = Math.round(tokenEstimator.text(text) * countRatio);
    const asText = { input: textTokens, cacheRead: 0, cacheWrite: 0, output: 0 };
    const onPrefix = this.#classed(cached, all + INSTRUCTION_TOKENS, 0);
    const isOnPrefix = usdOf(onPrefix, prices) < usdOf(asText, prices);
    return (written) => {
      const output = Math.min(SUMMARY_TOKENS, tokenEstimator.text(written));
      const tokens = { ...(isOnPrefix ? onPrefix : asText), output };
      add(this.summaries.tokens, tokens);
      this.summaries.requests += 1;
      this.summaries.usd += usdOf(tokens, prices);
    };
  }

  /** Providers without a price for cache writes charge them as input. */
  #classed(cached: number, all: number, output: number): ClassTokens {
    const isWritten = this.#options.prices.cacheWrite > 0;
    const rest = all - cached;
    return { input: isWritten ? 0 : rest, cacheRead: cached, cacheWrite: isWritten ? rest : 0, output };
  }

  #count(sent: readonly Message[], nowMs: number): { cached: number; all: number } {
    const { cacheRules } = this.#options;
    const all = this.size(sent);
    if (nowMs - this.#atMs > cacheRules.keptMs) return { cached: 0, all };
    const differs = sent.findIndex((message, at) => message !== this.#prefix[at]);
    const cached = this.size(sent.slice(0, differs < 0 ? sent.length : differs));
    return { cached: cached < cacheRules.minimumTokens ? 0 : cached, all };
  }

  /** Tokens of one message. */
  tokensOf(message: Message): number {
    const tokens = counted.get(message) ?? tokenEstimator.message(message);
    counted.set(message, tokens);
    return Math.round(tokens * this.#options.countRatio);
  }
}

const classes = ["input", "cacheRead", "cacheWrite", "output"] as const;

export function noTokens(): ClassTokens {
  return { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
}

/** Adds tokens to a sum. */
export function add(sum: ClassTokens, tokens: ClassTokens): void {
  for (const name of classes) sum[name] += tokens[name];
}

function usdOf({ input, cacheRead, cacheWrite, output }: ClassTokens, prices: ModelPrices): number {
  const usd = input * prices.input + cacheRead * (prices.cacheRead || prices.input);
  return (usd + cacheWrite * (prices.cacheWrite || prices.input) + output * prices.output) / MILLION;
}

const counted = new WeakMap<Message, number>();
