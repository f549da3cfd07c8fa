import type {
  BetaMessage as AnthropicMessage,
  BetaContentBlock as ContentBlock,
  BetaMessageDeltaUsage as MessageDeltaUsage,
  BetaRawContentBlockDelta as RawContentBlockDelta,
  BetaRawMessageDeltaEvent as RawMessageDeltaEvent,
  BetaRawMessageStreamEvent as RawMessageStreamEvent,
  BetaUsage as Usage,
} from "@anthropic-ai/sdk/resources/beta/messages";
import { isRecord, jsonText, tokenEstimator } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import { finishAnswer, finishWithoutReason } from "../failure/answer-end.ts";
import type { StreamEvent, TokenCounts } from "../model-request.ts";
import { ProviderError } from "../provider.ts";
import { malformed } from "../wire/errors.ts";
import { idIn, textIn } from "../wire/fields.ts";
import type { AnswerReading } from "../wire/stream.ts";

interface OpenBlock {
  block: ContentBlock;
  /** Absent for text without characters: an empty block would be refused later. */
  contentIndex?: number;
  hasArguments: boolean;
}

/** Reads the events of a stream into an answer. */
export class AnthropicStream implements AnswerReading {
  readonly #answer: AnswerBuilder;
  readonly #blocks = new Map<number, OpenBlock>();
  /** Arguments that arrived before their call, by index. */
  readonly #early = new Map<number, RawContentBlockDelta[]>();
  #counts: TokenCounts = {};
  /** Counts of compactions, which the other counts do not contain. */
  #compactionCounts: TokenCounts = {};
  /** The block of a compaction, as it came. */
  #compaction: CompactionBlock | undefined;
  readonly #isCompaction: boolean;
  isComplete = false;

  /** @param options.isCompaction true if the request asked for a compaction instead of an answer. Default: false */
  constructor(answer: AnswerBuilder, { isCompaction = false } = {}) {
    this.#answer = answer;
    this.#isCompaction = isCompaction;
  }

  get isFinished(): boolean {
    return this.isComplete;
  }

  end(): Iterable<StreamEvent> {
    if (!this.isComplete) finishWithoutReason(this.#answer, false);
    return [];
  }

  /** Reads one event. Ignores unknown types, and everything after the last event. */
  *take(raw: unknown): Iterable<StreamEvent> {
    if (this.isComplete) return;
    if (!isRecord(raw)) throw malformed("The server sent an event that is not a JSON object.", raw);
    const event = raw as unknown as AnthropicEvent;
    switch (event.type) {
      case "message_start":
        this.#begin(event.message);
        break;
      case "content_block_start":
        yield* this.#open(event.index, event.content_block);
        break;
      case "content_block_delta":
        yield* this.#add(event.index, event.delta);
        break;
      case "content_block_stop":
        if (!this.#isCallCutOff(event.index)) yield* this.#close(event.index);
        break;
      case "message_delta":
        this.#count(event.usage);
        this.#stop(event.delta);
        break;
      case "message_stop":
        for (const index of [...this.#blocks.keys()]) yield* this.#close(index);
        if (this.#isCompaction && this.#answer.summary === undefined) this.#finishCompaction("");
        this.isComplete = true;
        break;
      case "message":
        yield* this.#whole(event);
        break;
    }
  }

  /** Reads an answer in one piece. */
  *#whole(message: AnthropicMessage): Iterable<StreamEvent> {
    this.#begin(message);
    for (const [index, block] of message.content.entries()) {
      yield* this.#open(index, block);
      yield* this.#close(index);
    }
    this.#stop(message);
    this.isComplete = true;
  }

  #begin({ id, model, usage }: { id?: string; model?: string; usage?: Usage }): void {
    this.#answer.identify(textIn(id), textIn(model));
    this.#count(usage);
  }

  *#open(index: number, block: ContentBlock): Iterable<StreamEvent> {
    const known = this.#blocks.get(index)?.block;
    if (known?.type === "tool_use" && block.type === "tool_use" && known.id === block.id) return;
    // Some servers number every block 0 and send no end of a block.
    if (known !== undefined) yield* this.#close(index);
    const open: OpenBlock = { block, hasArguments: false };
    this.#blocks.set(index, open);
    switch (block.type) {
      case "text":
        if (textIn(block.text)) yield this.#text(open, block.text);
        break;
      case "thinking":
        open.contentIndex = this.#answer.add({ type: "thinking", thinking: "" });
        this.#sign(open, block.signature);
        if (textIn(block.thinking)) yield this.#answer.thinking(block.thinking);
        break;
      case "redacted_thinking":
        this.#answer.signThinking(undefined, textIn(block.data));
        break;
      case "compaction":
        this.#compaction = block;
        break;
      case "tool_use":
        open.contentIndex = this.#answer.beginCall({ id: idIn(block.id), name: textIn(block.name) });
        yield this.#answer.callArguments(open.contentIndex, "");
        break;
    }
    const early = this.#early.get(index) ?? [];
    this.#early.delete(index);
    for (const delta of early) yield* this.#add(index, delta);
  }

  *#add(index: number, delta: RawContentBlockDelta): Iterable<StreamEvent> {
    const open = this.#blocks.get(index);
    if (open === undefined) {
      if (delta?.type !== "input_json_delta") return;
      this.#early.set(index, [...(this.#early.get(index) ?? []), delta]);
      return;
    }
    switch (delta.type) {
      case "text_delta":
        if (textIn(delta.text)) yield this.#text(open, delta.text);
        break;
      case "thinking_delta":
        if (textIn(delta.thinking)) yield this.#answer.thinking(delta.thinking);
        break;
      case "signature_delta":
        if (this.#compaction === undefined) this.#sign(open, delta.signature);
        else this.#compaction.signature = delta.signature;
        break;
      case "compaction_delta": {
        // Its values are final. The block of the start event is empty.
        const { type: _, ...values } = delta;
        Object.assign(this.#compaction ?? {}, values);
        break;
      }
      case "input_json_delta":
        if (textIn(delta.partial_json)) yield* this.#arguments(open, delta.partial_json);
        break;
    }
  }

  /** True if the arguments of a call are incomplete: the rest may come after the end of its block. */
  #isCallCutOff(index: number): boolean {
    const { contentIndex, hasArguments = false } = this.#blocks.get(index) ?? {};
    return contentIndex !== undefined && hasArguments && !this.#answer.hasReadableArguments(contentIndex);
  }

  *#close(index: number): Iterable<StreamEvent> {
    const open = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (open?.block.type !== "tool_use" || open.contentIndex === undefined) return;
    // Some servers send the arguments whole, with the start.
    const { input } = open.block;
    const isWhole = typeof input === "object" && input !== null && Object.keys(input).length > 0;
    if (!open.hasArguments && isWhole) yield* this.#arguments(open, jsonText(input));
    yield this.#answer.endCall(open.contentIndex);
  }

  /** Keeps two successive text blocks apart: they must be sent back unchanged. */
  #text(open: OpenBlock, delta: string): StreamEvent {
    open.contentIndex ??= this.#answer.add({ type: "text", text: "" });
    return this.#answer.text(delta);
  }

  #sign({ contentIndex }: OpenBlock, signature: string): void {
    if (textIn(signature) && contentIndex !== undefined) this.#answer.signThinking(contentIndex, signature);
  }

  *#arguments(open: OpenBlock, json: string): Iterable<StreamEvent> {
    if (open.contentIndex === undefined || open.block.type !== "tool_use") return;
    open.hasArguments = true;
    yield this.#answer.callArguments(open.contentIndex, json);
  }

  /** Servers send counts at the start and, cumulative, at the end. Some send each only once. */
  #count(usage: Usage | MessageDeltaUsage | null | undefined): void {
    if (typeof usage !== "object" || usage === null) return;
    const known = this.#counts;
    if (Array.isArray(usage.iterations)) this.#compactionCounts = compactionCounts(usage.iterations);
    this.#counts = {
      ...known,
      input: highest(known.input, usage.input_tokens),
      output: highest(known.output, usage.output_tokens),
      cacheRead: highest(known.cacheRead, usage.cache_read_input_tokens),
      cacheWrite: highest(known.cacheWrite, usage.cache_creation_input_tokens),
      ...("cache_creation" in usage &&
        usage.cache_creation && {
          cacheWrite1h: highest(undefined, usage.cache_creation.ephemeral_1h_input_tokens),
        }),
      ...(usage.output_tokens_details && {
        reasoning: highest(known.reasoning, usage.output_tokens_details.thinking_tokens),
      }),
    };
    this.#answer.setUsage(summed(this.#counts, this.#compactionCounts));
  }

  /** Sets the summary of a compaction. @throws ProviderError if there is none */
  #finishCompaction(reason: string): void {
    const block = this.#compaction;
    const text = textIn(block?.content);
    if (reason !== "compaction" || text.trim() === "")
      throw new ProviderError({
        kind: "refused",
        code: "compaction_failed",
        message: `The provider sent no complete summary (${reason || "no reason"}).`,
        body: block,
      });
    this.#answer.setSummary([block], { text, tokens: tokenEstimator.text(text) });
    this.#answer.stop("stop", reason);
  }

  #stop({ stop_reason: reason, stop_details: details }: RawMessageDeltaEvent.Delta): void {
    if (this.#isCompaction && reason !== "refusal") {
      if (textIn(reason)) this.#finishCompaction(textIn(reason));
      return;
    }
    const hasCalls = this.#answer.message.content.some((block) => block.type === "toolCall");
    if (!textIn(reason)) {
      this.#answer.stop(hasCalls ? "toolUse" : "stop");
      return;
    }
    if (reason !== "model_context_window_exceeded" && reason !== "refusal") {
      finishAnswer(this.#answer, textIn(reason));
      return;
    }
    this.#answer.stop("error", reason);
    const message =
      reason === "refusal"
        ? textIn(details?.explanation) || "The model declined to answer (refusal)."
        : "The answer reached the end of the model's context window (model_context_window_exceeded).";
    throw new ProviderError({ kind: "refused", code: reason, message, body: details ?? undefined });
  }
}

type CompactionBlock = Extract<ContentBlock, { type: "compaction" }>;

type Iteration = NonNullable<Usage["iterations"]>[number];

function compactionCounts(iterations: readonly Iteration[]): TokenCounts {
  const passes = iterations.filter((each) => isRecord(each) && each.type === "compaction");
  return passes.reduce(
    (sum: TokenCounts, pass) =>
      summed(sum, {
        input: highest(undefined, pass.input_tokens),
        output: highest(undefined, pass.output_tokens),
        cacheRead: highest(undefined, pass.cache_read_input_tokens),
        cacheWrite: highest(undefined, pass.cache_creation_input_tokens),
        ...(pass.cache_creation && {
          cacheWrite1h: highest(undefined, pass.cache_creation.ephemeral_1h_input_tokens),
        }),
      }),
    {},
  );
}

function summed(counts: TokenCounts, more: TokenCounts): TokenCounts {
  const sum = { ...counts };
  for (const [name, count] of Object.entries(more) as [keyof TokenCounts, number][])
    (sum as Record<string, number>)[name] = ((counts[name] as number | undefined) ?? 0) + count;
  return sum;
}

/** NaN for a value that is no count, which makes the whole usage impossible. */
function highest(known: number | undefined, value: unknown): number {
  const count = value ?? 0;
  return Math.max(known ?? 0, typeof count === "number" && count >= 0 ? count : Number.NaN);
}

type AnthropicEvent = RawMessageStreamEvent | AnthropicMessage | { type: "ping" };
