import { type ProviderAnswer, ProviderError, type StreamEvent } from "@bonsai-agent/extension";
import type { GenerateContentResponse, GenerateContentResponseUsageMetadata, Part } from "@google/genai";

/** Reads the chunks of `generateContentStream` into an answer. */
export class GeminiAnswer {
  readonly #answer: ProviderAnswer;
  #finishReason: string | undefined;
  #finishMessage: string | undefined;

  constructor(answer: ProviderAnswer) {
    this.#answer = answer;
  }

  *take({ candidates, promptFeedback, usageMetadata }: GenerateContentResponse): Iterable<StreamEvent> {
    if (usageMetadata !== undefined) this.#answer.setUsage(countsOf(usageMetadata));
    if (promptFeedback?.blockReason !== undefined)
      throw new ProviderError({
        kind: "refused",
        code: promptFeedback.blockReason,
        message: `Gemini refused the prompt: ${promptFeedback.blockReason}${promptFeedback.blockReasonMessage ? `, ${promptFeedback.blockReasonMessage}` : ""}.`,
      });
    const [candidate] = candidates ?? [];
    for (const part of candidate?.content?.parts ?? []) yield* this.#part(part);
    this.#finishReason = candidate?.finishReason ?? this.#finishReason;
    this.#finishMessage = candidate?.finishMessage ?? this.#finishMessage;
  }

  /** @throws ProviderError for an incomplete or blocked answer */
  end(): void {
    const reason = this.#finishReason;
    if (reason === undefined)
      throw new ProviderError({ kind: "cut", message: "The stream ended before the answer was complete." });
    const hasCalls = this.#answer.message.content.some(({ type }) => type === "toolCall");
    if (reason === "STOP") this.#answer.stop(hasCalls ? "toolUse" : "stop", reason);
    else if (reason === "MAX_TOKENS") this.#answer.stop("length", reason);
    else throw stopped(reason, this.#finishMessage);
  }

  *#part({ text, thought, functionCall, thoughtSignature }: Part): Iterable<StreamEvent> {
    if (functionCall !== undefined) {
      const { id = "", name = "", args = {} } = functionCall;
      const signature = thoughtSignature === undefined ? {} : { thoughtSignature };
      const at = this.#answer.beginCall({ id, name, ...signature });
      yield this.#answer.callArguments(at, JSON.stringify(args));
      yield this.#answer.endCall(at);
      return;
    }
    if (thought && text) yield this.#answer.thinking(text);
    else if (!thought && text) yield this.#answer.text(text);
    if (thoughtSignature !== undefined) this.#sign(thoughtSignature, thought === true);
  }

  /** It may come with an empty text, at the end. */
  #sign(signature: string, isThought: boolean): void {
    const { content } = this.#answer.message;
    const last = content.at(-1);
    if (isThought && last?.type === "thinking") last.thinkingSignature = signature;
    else if (isThought) this.#answer.add({ type: "thinking", thinking: "", thinkingSignature: signature });
    else if (last?.type === "text") last.textSignature = signature;
    else this.#answer.add({ type: "text", text: "", textSignature: signature });
  }
}

/** A retry can fix a malformed call, but not a filtered answer. */
function stopped(reason: string, message: string | undefined): ProviderError {
  const isMalformed = /MALFORMED|UNEXPECTED_TOOL_CALL|OTHER/.test(reason);
  return new ProviderError({
    kind: isMalformed ? "garbled" : "refused",
    code: reason,
    message: `Gemini ended the answer with ${reason}${message ? `: ${message}` : "."}`,
  });
}

function countsOf(usage: GenerateContentResponseUsageMetadata) {
  const { promptTokenCount = 0, cachedContentTokenCount = 0, toolUsePromptTokenCount = 0 } = usage;
  const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage;
  return {
    input: promptTokenCount + toolUsePromptTokenCount - cachedContentTokenCount,
    cacheRead: cachedContentTokenCount,
    output: candidatesTokenCount + thoughtsTokenCount,
    ...(thoughtsTokenCount > 0 && { reasoning: thoughtsTokenCount }),
  };
}
