import type {
  ContentBlockDelta,
  ConverseStreamOutput,
  ReasoningContentBlockDelta,
  TokenUsage,
} from "@aws-sdk/client-bedrock-runtime";
import { type ProviderAnswer, ProviderError, type StreamEvent } from "@bonsai-agent/extension";

/** Reads the events of ConverseStream into an answer. Maps the wire's blocks to the answer's. */
export class ConverseAnswer {
  readonly #answer: ProviderAnswer;
  /** Index in the answer, by the wire's. */
  readonly #calls = new Map<number, number>();
  #redacted: Buffer[] = [];
  #stopReason: string | undefined;

  constructor(answer: ProviderAnswer) {
    this.#answer = answer;
  }

  *take(event: ConverseStreamOutput): Iterable<StreamEvent> {
    const { contentBlockStart, contentBlockDelta, contentBlockStop, messageStop, metadata } = event;
    const toolUse = contentBlockStart?.start?.toolUse;
    if (toolUse !== undefined) {
      const { toolUseId: id = "", name = "" } = toolUse;
      this.#calls.set(contentBlockStart?.contentBlockIndex ?? 0, this.#answer.beginCall({ id, name }));
    }
    if (contentBlockDelta?.delta !== undefined)
      yield* this.#delta(contentBlockDelta.delta, contentBlockDelta.contentBlockIndex ?? 0);
    if (contentBlockStop !== undefined) yield* this.#blockEnd(contentBlockStop.contentBlockIndex ?? 0);
    if (messageStop !== undefined) this.#stopReason = messageStop.stopReason ?? "end_turn";
    if (metadata?.usage !== undefined) this.#answer.setUsage(countsOf(metadata.usage));
  }

  /** @throws ProviderError for an incomplete answer */
  end(): void {
    const reason = this.#stopReason;
    if (reason === undefined)
      throw new ProviderError({ kind: "cut", message: "The stream ended before the answer was complete." });
    const stop = stopReasons[reason];
    if (stop === undefined)
      throw new ProviderError({
        // A retry can fix a malformed answer. A filter would stop the next answer too.
        kind: reason.startsWith("malformed") ? "garbled" : "refused",
        code: reason,
        message: refusals[reason] ?? `Bedrock ended the answer with ${reason}.`,
      });
    this.#answer.stop(stop, reason);
  }

  *#delta({ text, toolUse, reasoningContent }: ContentBlockDelta, at: number): Iterable<StreamEvent> {
    if (text !== undefined) yield this.#answer.text(text);
    const call = this.#calls.get(at);
    if (toolUse !== undefined && call !== undefined)
      yield this.#answer.callArguments(call, toolUse.input ?? "");
    if (reasoningContent !== undefined) yield* this.#reasoning(reasoningContent);
  }

  *#reasoning({ text, signature, redactedContent }: ReasoningContentBlockDelta): Iterable<StreamEvent> {
    if (text !== undefined) yield this.#answer.thinking(text);
    if (signature !== undefined) this.#sign(signature);
    if (redactedContent !== undefined) this.#redacted.push(Buffer.from(redactedContent));
  }

  #sign(signature: string): void {
    const { content } = this.#answer.message;
    if (content.at(-1)?.type !== "thinking") this.#answer.add({ type: "thinking", thinking: "" });
    const block = content.at(-1);
    if (block?.type === "thinking") block.thinkingSignature = (block.thinkingSignature ?? "") + signature;
  }

  *#blockEnd(at: number): Iterable<StreamEvent> {
    const call = this.#calls.get(at);
    if (call !== undefined) yield this.#answer.endCall(call);
    this.#calls.delete(at);
    if (this.#redacted.length === 0) return;
    const thinkingSignature = Buffer.concat(this.#redacted).toString("base64");
    this.#redacted = [];
    this.#answer.add({ type: "thinking", thinking: "", thinkingSignature, redacted: true });
  }
}

/** Stop reasons that are no failure. The classifier recognises a full window. */
const stopReasons: Readonly<Record<string, "stop" | "length" | "toolUse">> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
};

const refusals: Readonly<Record<string, string>> = {
  guardrail_intervened: "A guardrail of your AWS account stopped the answer.",
  content_filtered: "The model's content filter stopped the answer.",
  malformed_model_output: "The model's answer was malformed.",
  malformed_tool_use: "The model's tool call was malformed.",
};

function countsOf({
  inputTokens,
  outputTokens,
  cacheReadInputTokens,
  cacheWriteInputTokens,
  cacheDetails,
}: TokenUsage) {
  const hour = (cacheDetails ?? [])
    .filter(({ ttl }) => ttl === "1h")
    .map(({ inputTokens: count = 0 }) => count);
  return {
    input: inputTokens ?? 0,
    output: outputTokens ?? 0,
    cacheRead: cacheReadInputTokens ?? 0,
    cacheWrite: cacheWriteInputTokens ?? 0,
    ...(hour.length > 0 && { cacheWrite1h: hour.reduce((sum, count) => sum + count, 0) }),
  };
}
