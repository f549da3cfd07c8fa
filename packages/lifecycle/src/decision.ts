import type { HandlerOutcome } from "./call-handler.ts";
import type { RegisteredHandler } from "./handler.ts";
import type { HandlerRunner } from "./handler-runner.ts";
import { frozenCopy } from "./payload.ts";
import { Proposal } from "./proposal.ts";
import type { ErasedDecideRule } from "./rule.ts";

/** The combined outcome of a decide event. */
export interface Decision<Result, Payload = unknown> {
  /** Undefined when everybody abstained; after an abort the event's refusal on top of what was proposed. */
  readonly result: Result | undefined;
  /** Who last set each field of the result. */
  readonly sources: Readonly<Partial<Record<keyof Result, string>>>;
  /** The payload as the last handler left it: another one only in events with a `transform` rule. */
  readonly payload: Payload;
  /** True when the signal was aborted before the last handler had answered. */
  readonly aborted: boolean;
}

type Fields = Record<string, unknown>;

export interface DecisionRunOptions {
  event: string;
  rule: ErasedDecideRule;
  payload: object;
  signal: AbortSignal;
  runner: HandlerRunner;
}

/** One firing of a decide event: owner of the proposal and of the payload as it changes. */
export class DecisionRun {
  readonly #options: DecisionRunOptions;
  readonly #proposal: Proposal;
  #payload: object;

  constructor(options: DecisionRunOptions) {
    this.#options = options;
    this.#proposal = new Proposal(options.rule);
    this.#payload = options.payload;
  }

  async ask(handlers: readonly RegisteredHandler[]): Promise<Decision<Fields, object>> {
    for (const handler of handlers) {
      const outcome = await this.#outcomeOf(handler);
      if (outcome.status === "aborted") return this.#aborted();
      const proposed = this.#proposedBy(handler, outcome);
      if (proposed === undefined) continue;
      this.#add(proposed, handler.source);
      if (this.#isFinal()) break;
    }
    return this.#options.signal.aborted ? this.#aborted() : this.#decision(this.#proposal.result, false);
  }

  #outcomeOf(handler: RegisteredHandler): Promise<HandlerOutcome> {
    const { event, signal, runner } = this.#options;
    const current = this.#proposal.result;
    const payload = frozenCopy(this.#payload, { current });
    return runner.run({ event, handler, payload, current, signal });
  }

  /** The fields that count; undefined for whoever abstains. */
  #proposedBy(handler: RegisteredHandler, outcome: HandlerOutcome): Fields | undefined {
    const { event, rule, runner } = this.#options;
    const failsClosed = (handler.onError ?? rule.onError) === "cancel";
    if (outcome.status === "threw") return failsClosed ? rule.refusal(outcome.error) : undefined;
    const value = outcome.status === "returned" ? outcome.value : undefined;
    if (value === undefined || value === null) return undefined;
    const verdict = isFields(value) && (rule.isResult?.(value, this.#payload) ?? true);
    if (isFields(value) && verdict === true) return value;
    const received = typeof verdict === "string" ? verdict : described(value);
    const { source } = handler;
    runner.notice({
      type: "invalid_result",
      event,
      source,
      received,
      ...(failsClosed ? { isRefusal: true } : {}),
    });
    // What a guard meant by it nobody can tell: it may have been a no.
    return failsClosed
      ? rule.refusal(new TypeError(`${source} answered ${event} with ${received}, which is no answer.`))
      : undefined;
  }

  #add(proposed: Fields, source: string): void {
    const { event, rule, runner } = this.#options;
    for (const conflict of this.#proposal.add(proposed, source)) {
      runner.notice({ type: "conflict", event, ...conflict });
    }
    this.#payload = rule.transform?.(this.#payload, proposed) ?? this.#payload;
  }

  #isFinal(): boolean {
    const { result } = this.#proposal;
    return result !== undefined && this.#options.rule.final(result);
  }

  #aborted(): Decision<Fields, object> {
    const result = { ...this.#proposal.result, ...this.#options.rule.refusal(this.#options.signal.reason) };
    return this.#decision(Object.keys(result).length === 0 ? undefined : result, true);
  }

  #decision(result: Fields | undefined, aborted: boolean): Decision<Fields, object> {
    return { result, sources: this.#proposal.sources, payload: this.#payload, aborted };
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function described(value: unknown): string {
  if (isFields(value)) return `fields {${Object.keys(value).join(", ")}}`;
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
