import { byScriptEstimator, type CacheRules, type Message, type ModelPrices } from "@bonsai-agent/messages";

/** Tokens by price class. Input is what was read fresh. */
export interface ClassTokens {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

export interface BillOptions {
  /** US dollars per million tokens. */
  prices: ModelPrices;
  cacheRules: CacheRules;
  /** System prompt and tools, which are sent with every request. */
  fixedTokens: number;
  /** What the provider counts of a message, for each token of the plain count. */
  countRatio: number;
}

const MILLION = 1_000_000;
/** What a request for a summary holds beside the conversation, and the summary itself, of usual length. */
const INSTRUCTION_TOKENS = 1_000;
const SUMMARY_TOKENS = 2_000;

/**
 * What requests cost at a provider that keeps the latest prefix for as long as its rules say. Owner of the bill, and of what
 * the provider remembers.
 */
export class Bill {
  usd = 0;
  /** Of `usd`, what requests for summaries cost. */
  summariesUsd = 0;
  readonly tokens: ClassTokens = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
  readonly #options: BillOptions;
  #prefix: readonly Message[] = [];
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(options: BillOptions) {
    this.#options = options;
  }

  /** A request with these messages, and its answer. @returns its tokens */
  request(sent: readonly Message[], answer: Message, nowMs: number): ClassTokens {
    const { cached, all } = this.#count(sent, nowMs);
    const tokens = this.#classed(cached, all, this.#tokens(answer));
    this.#pay(tokens);
    this.#prefix = sent;
    this.#atMs = nowMs;
    return tokens;
  }

  /** A request for a summary: on the cached prefix, or of the conversation as text, whichever costs less. */
  summary(sent: readonly Message[], text: string, nowMs: number): void {
    const { cached, all } = this.#count(sent, nowMs);
    const onPrefix = this.#classed(cached, all + INSTRUCTION_TOKENS, SUMMARY_TOKENS);
    const textTokens = Math.round(byScriptEstimator.text(text) * this.#options.countRatio);
    const asText = { input: textTokens, cacheRead: 0, cacheWrite: 0, output: SUMMARY_TOKENS };
    const cheaper = this.#priceOf(onPrefix) < this.#priceOf(asText) ? onPrefix : asText;
    this.#pay(cheaper);
    this.summariesUsd += this.#priceOf(cheaper);
  }

  /** A provider without a price for writing to its cache takes that of what is fresh. */
  #classed(cached: number, all: number, output: number): ClassTokens {
    const isWritten = this.#options.prices.cacheWrite > 0;
    const rest = all - cached;
    return { input: isWritten ? 0 : rest, cacheRead: cached, cacheWrite: isWritten ? rest : 0, output };
  }

  #count(sent: readonly Message[], nowMs: number): { cached: number; all: number } {
    const { fixedTokens, cacheRules } = this.#options;
    const sum = (of: readonly Message[]) =>
      of.reduce((total, message) => total + this.#tokens(message), fixedTokens);
    const all = sum(sent);
    if (nowMs - this.#atMs > cacheRules.keptMs) return { cached: 0, all };
    const differs = sent.findIndex((message, at) => message !== this.#prefix[at]);
    const cached = sum(sent.slice(0, differs < 0 ? sent.length : differs));
    return { cached: cached < cacheRules.minimumTokens ? 0 : cached, all };
  }

  #tokens(message: Message): number {
    const tokens = counted.get(message) ?? byScriptEstimator.message(message);
    counted.set(message, tokens);
    return Math.round(tokens * this.#options.countRatio);
  }

  #priceOf({ input, cacheRead, cacheWrite, output }: ClassTokens): number {
    const { prices } = this.#options;
    const usd = input * prices.input + cacheRead * (prices.cacheRead || prices.input);
    return (usd + cacheWrite * prices.cacheWrite + output * prices.output) / MILLION;
  }

  #pay(tokens: ClassTokens): void {
    for (const name of ["input", "cacheRead", "cacheWrite", "output"] as const)
      this.tokens[name] += tokens[name];
    this.usd += this.#priceOf(tokens);
  }
}

const counted = new WeakMap<Message, number>();
