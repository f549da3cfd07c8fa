import { randomUUID } from "node:crypto";
import {
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type ModelPrices,
  type ProviderSummary,
  type StopReason,
  type ToolCall,
  textHead,
  tokenEstimator,
  type Usage,
} from "@bonsai-agent/messages";
import { answerUsage, isPlausibleCount } from "@bonsai-agent/messages/host";
import { MALFORMED_ARGUMENTS, parseArguments } from "./call-arguments.ts";
import type { CatalogueModel } from "./model.ts";
import { definedFields } from "./model.ts";
import {
  type IgnoredUsage,
  type RequestSize,
  type StreamEvent,
  type TokenCounts,
  UNSEEN_INPUT_TOKENS,
} from "./model-request.ts";
import { LeadingThinking, TAG_CHARS, untaggedThinking } from "./thinking-tags.ts";

const BEGINNING_CHARS = 8_000;

const closing = /<\/|\[\/|◁\//;

/** Builds one answer from its parts, and the events of its stream. */
export class AnswerBuilder {
  /** The answer so far. It grows in place. */
  readonly message: AssistantMessage;
  readonly #model: CatalogueModel;
  /** Arguments of incomplete calls, by content index. */
  readonly #argumentTexts = new Map<number, string>();
  #leading = new LeadingThinking();
  /** The last characters of the first text, which may begin a closing tag. */
  #firstTextEnd = "";
  #request: RequestSize | undefined;
  #ignoredUsage: IgnoredUsage | undefined;
  #summary: ProviderSummary | undefined;

  constructor(model: CatalogueModel, timestamp: number) {
    this.#model = model;
    this.message = {
      role: "assistant",
      content: [],
      api: model.api,
      provider: model.provider,
      model: model.id,
      usage: emptyUsage(),
      stopReason: "stop",
      timestamp,
    };
  }

  /** Sets the size of the request, to detect impossible usages. */
  expect(request: RequestSize): void {
    this.#request = request;
  }

  /** The latest usage of the server, if it is impossible. */
  get ignoredUsage(): IgnoredUsage | undefined {
    return this.#ignoredUsage;
  }

  /** The summary that the provider made on its side, if it was asked for one. */
  get summary(): ProviderSummary | undefined {
    return this.#summary;
  }

  /** Sets the summary of the provider. @param text its readable text; undefined for a sealed summary */
  setSummary(
    items: readonly unknown[],
    { text, tokens }: { text: string | undefined; tokens: number },
  ): void {
    const { api, provider, id: model } = this.#model;
    this.#summary = { api, provider, model, items, tokens, ...(text === undefined && { isSealed: true }) };
    if (text !== undefined) this.message.content = [{ type: "text", text }];
  }

  /** The first event of an attempt. */
  start(): StreamEvent {
    return { type: "start", message: this.message };
  }

  /**
   * Adds text to the last block, or begins a text block. Text in thinking tags before the answer becomes thinking.
   * Returns the event of the last part. While a tag may be incomplete, returns the start event again.
   */
  text(delta: string): StreamEvent {
    let event: StreamEvent | undefined;
    for (const piece of this.#leading.take(delta))
      event = piece.isThinking ? this.#thinkingInText(piece.text) : this.#appendText(piece.text);
    return event ?? this.start();
  }

  #thinkingInText(delta: string): StreamEvent {
    const { content } = this.message;
    const last = content.at(-1);
    // Replace an empty text block.
    if (last?.type === "text" && last.text === "")
      content[content.length - 1] = { type: "thinking", thinking: "" };
    return this.thinking(delta);
  }

  #appendText(delta: string): StreamEvent {
    const { message } = this;
    const last = message.content.at(-1);
    if (last?.type === "text") last.text += delta;
    else message.content.push({ type: "text", text: delta });
    const separated = this.#separateUntagged(delta);
    return separated ?? { type: "text", contentIndex: message.content.length - 1, delta, message };
  }

  /** Turns the first text into thinking once a closing tag without an opening tag arrives. */
  #separateUntagged(delta: string, isWhole = false): StreamEvent | undefined {
    const { message } = this;
    const [block, ...others] = message.content;
    if (others.length > 0 || block?.type !== "text") return undefined;
    const seen = this.#firstTextEnd + delta;
    this.#firstTextEnd = seen.slice(-TAG_CHARS);
    // Reading all of the text for each part would take quadratic time.
    if (!closing.test(seen)) return undefined;
    const from = Math.max(0, block.text.length - delta.length - TAG_CHARS);
    const found = untaggedThinking(block.text, { from, isWhole });
    if (found === undefined) return undefined;
    const { thinking, rest } = found;
    message.content = [{ type: "thinking", thinking }, ...(rest === "" ? [] : [{ ...block, text: rest }])];
    if (rest !== "") return { type: "text", contentIndex: 1, delta: rest, message };
    this.#leading = new LeadingThinking({ isBehind: true });
    return { type: "thinking", contentIndex: 0, delta: "", message };
  }

  /** Ends the text: adds the held characters of an incomplete tag. Returns undefined if nothing changed. */
  endText(): StreamEvent | undefined {
    let event: StreamEvent | undefined;
    for (const piece of this.#leading.end())
      event = piece.isThinking ? this.thinking(piece.text) : this.#appendText(piece.text);
    return this.#separateUntagged("", true) ?? event;
  }

  /** Adds to the last block if it is thinking, else begins a block. */
  thinking(delta: string): StreamEvent {
    const { message } = this;
    const last = message.content.at(-1);
    if (last?.type === "thinking") last.thinking += delta;
    else message.content.push({ type: "thinking", thinking: delta });
    return { type: "thinking", contentIndex: message.content.length - 1, delta, message };
  }

  /** Adds a block. Returns its content index. */
  add(block: AssistantContent): number {
    return this.message.content.push(block) - 1;
  }

  /** Signs a block of thinking. Without a block, adds thinking that only its server can read. */
  signThinking(contentIndex: number | undefined, thinkingSignature: string): void {
    const block = contentIndex === undefined ? undefined : this.message.content[contentIndex];
    if (block?.type === "thinking") block.thinkingSignature = thinkingSignature;
    else if (block === undefined)
      this.add({ type: "thinking", thinking: "", thinkingSignature, redacted: true });
  }

  /** Notes the server's id of the answer, and the name of its model if that differs. Ignores other values. */
  identify(id: unknown, model: unknown): void {
    const { message } = this;
    if (typeof id === "string" && id !== "") message.responseId = id;
    if (typeof model === "string" && model !== "" && model !== message.model) message.responseModel = model;
  }

  /** Begins a call. Returns its content index. */
  beginCall({ id, name, ...rest }: Pick<ToolCall, "id" | "name"> & Partial<ToolCall>): number {
    this.endText();
    const index = this.add({ type: "toolCall", arguments: {}, ...rest, id: id ?? "", name: name ?? "" });
    this.#argumentTexts.set(index, "");
    return index;
  }

  /** Adds a part of a call's arguments, as JSON text. */
  callArguments(contentIndex: number, delta: string): StreamEvent {
    this.#argumentTexts.set(contentIndex, (this.#argumentTexts.get(contentIndex) ?? "") + delta);
    return { type: "tool_call", contentIndex, delta, message: this.message };
  }

  /**
   * Ends a call. Arguments that are no JSON object, or nested too deep, become text under `MALFORMED_ARGUMENTS`. A call
   * without an id, or with the id of an earlier call, gets a new one.
   * @param whole the arguments in one piece. Replaces the parts if it can be read
   */
  endCall(contentIndex: number, whole = ""): StreamEvent {
    const parts = this.#argumentTexts.get(contentIndex) ?? "";
    const text = whole !== "" && parseArguments(whole) !== undefined ? whole : parts;
    this.#argumentTexts.delete(contentIndex);
    const toolCall = this.message.content[contentIndex] as ToolCall;
    if (!this.#hasOwnId(contentIndex)) toolCall.id = `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    const parsed = parseArguments(text);
    if (parsed === undefined) toolCall.arguments = { [MALFORMED_ARGUMENTS]: text };
    else toolCall.arguments = parsed;
    return { type: "tool_call", contentIndex, delta: "", toolCall, message: this.message };
  }

  #hasOwnId(contentIndex: number): boolean {
    const { content } = this.message;
    const { id } = content[contentIndex] as ToolCall;
    const earlier = content.slice(0, contentIndex);
    return id !== "" && !earlier.some((block) => block.type === "toolCall" && block.id === id);
  }

  /** True if the parts of a call's arguments so far can be read. */
  hasReadableArguments(contentIndex: number): boolean {
    return parseArguments(this.#argumentTexts.get(contentIndex) ?? "") !== undefined;
  }

  /** True if a call is incomplete. */
  get hasOpenCall(): boolean {
    return this.#argumentTexts.size > 0;
  }

  /** Ignores an impossible usage: it would spoil the size of the context and all sums. */
  setUsage(counts: TokenCounts): void {
    this.#ignoredUsage = impossibleCounts(counts, this.message, this.#request);
    if (this.#ignoredUsage !== undefined) {
      this.message.usage = emptyUsage();
      return;
    }
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...definedFields(counts) };
    const { input, output, cacheRead, cacheWrite } = usage;
    this.message.usage = {
      ...usage,
      totalTokens: input + output + cacheRead + cacheWrite,
      cost: usageCost(usage, this.#model.usdPerMillionTokens),
    };
  }

  /** Marks the usage as uncounted if the server did not count the whole answer. */
  endUsage(): void {
    this.message.usage = answerUsage(this.message);
  }

  /** Keeps only the beginning of an endless answer, which would fill the context and the session file. */
  keepBeginning(): void {
    let left = BEGINNING_CHARS;
    this.message.content = this.message.content.flatMap((block): AssistantContent[] => {
      if (left <= 0) return [];
      const available = left;
      left -= JSON.stringify(block).length;
      if (left >= 0) return [block];
      if (block.type === "text") return [{ type: "text", text: textHead(block.text, available) }];
      if (block.type !== "thinking") return [];
      return [{ type: "thinking", thinking: textHead(block.thinking, available) }];
    });
  }

  /** Sets the reason for the end, in Bonsai's words and in the server's. */
  stop(reason: StopReason, rawReason?: string): void {
    this.message.stopReason = reason;
    if (rawReason !== undefined) this.message.rawStopReason = rawReason;
  }
}

/** Maximum ratio of the output to the cap: some servers do not count thinking for the cap. */
const MAX_CAP_RATIO = 2;

/**
 * Returns impossible counts; undefined for possible ones. Impossible are counts that are fractional, negative, beyond all
 * windows, far above the estimate of the request, or above its cap and far above the answer.
 * @param answer the answer so far
 */
function impossibleCounts(
  counts: TokenCounts,
  answer: AssistantMessage,
  request: RequestSize | undefined,
): IgnoredUsage | undefined {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0, reasoning = 0 } = counts;
  const promptTokens = input + cacheRead + cacheWrite;
  const all = [input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning];
  const isWhole = all.every((count) => Number.isSafeInteger(count) && count >= 0);
  const largest = all.find((count) => !isPlausibleCount(count));
  const fits = (sent: RequestSize) =>
    isPlausibleCount(promptTokens, sent.inputTokens, UNSEEN_INPUT_TOKENS) &&
    (output <= sent.maxOutputTokens * MAX_CAP_RATIO ||
      isPlausibleCount(output, tokenEstimator.message(answer)));
  if (isWhole && largest === undefined && (request === undefined || fits(request))) return undefined;
  return {
    reportedTokens: isWhole ? (largest ?? promptTokens + output) : Number.NaN,
    estimatedTokens: request?.inputTokens,
  };
}

const TOKENS = 1_000_000;
/** Writing for an hour costs twice the input price, not 1.25 times (Anthropic's price list). */
const HOUR_CACHE_FACTOR = 2;

/** The cost of a usage in US dollars; 0 without prices. */
export function usageCost(
  usage: Omit<Usage, "cost" | "totalTokens">,
  prices: ModelPrices | undefined,
): Usage["cost"] {
  const price = prices ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const hour = Math.min(usage.cacheWrite1h ?? 0, usage.cacheWrite);
  const input = (usage.input * price.input) / TOKENS;
  const output = (usage.output * price.output) / TOKENS;
  const cacheRead = (usage.cacheRead * price.cacheRead) / TOKENS;
  const cacheWrite =
    ((usage.cacheWrite - hour) * price.cacheWrite + hour * price.input * HOUR_CACHE_FACTOR) / TOKENS;
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}
