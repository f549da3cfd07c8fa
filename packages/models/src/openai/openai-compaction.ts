import { isRecord, jsonText, tokenEstimator } from "@bonsai-agent/messages";
import type { CompactedResponse, ResponseOutputItem } from "openai/resources/responses/responses";
import type { AnswerBuilder } from "../answer-builder.ts";
import type { StreamEvent } from "../model-request.ts";
import { ProviderError } from "../provider.ts";
import { malformed } from "../wire/errors.ts";
import type { AnswerReading } from "../wire/stream.ts";
import { openAiUsage } from "./openai-wire.ts";

/** Reads the answer to a request for a compaction: all user messages, and one item that only OpenAI can read. */
export class CompactedAnswer implements AnswerReading {
  readonly #answer: AnswerBuilder;
  isComplete = false;

  constructor(answer: AnswerBuilder) {
    this.#answer = answer;
  }

  get isFinished(): boolean {
    return this.isComplete;
  }

  take(body: unknown): Iterable<StreamEvent> {
    const { id, object, output, usage } = (body ?? {}) as Partial<CompactedResponse>;
    if (object !== "response.compaction" || !Array.isArray(output))
      throw malformed("The server sent an answer that is no compaction.", body);
    const sealed = output.filter((item) => item?.type === "compaction");
    if (sealed.length !== 1 || typeof sealed[0]?.encrypted_content !== "string")
      throw malformed("The server sent a compaction without exactly one encrypted summary.", body);
    const counts = openAiUsage(usage);
    this.#answer.identify(id, undefined);
    if (counts !== undefined) this.#answer.setUsage(counts);
    this.#answer.setSummary(output, {
      text: undefined,
      tokens: keptTokens(output) + (counts?.output || tokenEstimator.text(sealed[0].encrypted_content)),
    });
    this.#answer.stop("stop");
    this.isComplete = true;
    return [];
  }

  end(): Iterable<StreamEvent> {
    if (!this.isComplete)
      throw new ProviderError({ kind: "cut", message: "The server's answer to the compaction was empty." });
    return [];
  }
}

/** Tokens of the items beside the sealed one, whose size the usage gives. */
function keptTokens(output: readonly ResponseOutputItem[]): number {
  const kept = output.filter((item) => isRecord(item) && item.type !== "compaction");
  return tokenEstimator.text(kept.map((item) => jsonText(item)).join("\n"));
}
