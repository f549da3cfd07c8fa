import { jsonText, type ThinkingContent } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import { ProviderError } from "../provider.ts";
import type { StreamEvent } from "../stream-event.ts";
import { type CallPart, ChatCalls } from "./openai-chat-calls.ts";
import { refusal } from "./openai-error.ts";
import { finishAnswer, finishWithoutReason } from "./openai-finish.ts";
import { ReasoningDetails } from "./openai-reasoning-details.ts";
import { openAiUsage } from "./openai-usage.ts";

/** A chunk of a stream, or a whole completion; nothing in it can be relied on. */
interface Chunk {
  id?: unknown;
  model?: unknown;
  choices?: readonly Choice[] | null;
  usage?: unknown;
  x_groq?: { usage?: unknown } | null;
  base_resp?: { status_code?: unknown; status_msg?: unknown } | null;
}

interface Choice {
  index?: unknown;
  delta?: Delta | null;
  /** Where a server sends the answer in one piece. */
  message?: Delta | null;
  finish_reason?: unknown;
  /** Moonshot has it here. */
  usage?: unknown;
  error?: unknown;
}

interface Delta {
  content?: unknown;
  refusal?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  reasoning_text?: unknown;
  reasoning_details?: unknown;
  tool_calls?: readonly CallPart[] | null;
  function_call?: CallPart["function"];
}

/** Reads the chunks of a Chat Completions stream into an answer. */
export class ChatAnswer {
  readonly #answer: AnswerBuilder;
  readonly #calls: ChatCalls;
  readonly #details = new ReasoningDetails();
  #finishReason: string | undefined;
  #error: unknown;
  #hasUsage = false;

  constructor(answer: AnswerBuilder) {
    this.#answer = answer;
    this.#calls = new ChatCalls(answer);
  }

  /** True when the server has said why it stopped: what may still come is the usage. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  get isComplete(): boolean {
    return this.isFinished && this.#hasUsage;
  }

  *take(event: unknown): Iterable<StreamEvent> {
    const chunk = soundChunk(event);
    const { message } = this.#answer;
    if (typeof chunk.id === "string" && chunk.id !== "") message.responseId ??= chunk.id;
    if (typeof chunk.model === "string" && chunk.model !== "" && chunk.model !== message.model) {
      message.responseModel = chunk.model;
    }
    const choice = chunk.choices?.find(({ index }) => (index ?? 0) === 0);
    if (choice !== undefined && !isFields(choice.delta ?? choice.message ?? {})) throw unknownShape(event);
    const usage = openAiUsage(chunk.usage ?? choice?.usage ?? chunk.x_groq?.usage);
    if (usage !== undefined) {
      this.#answer.setUsage(usage);
      this.#hasUsage = true;
    }
    if (choice === undefined) return;
    yield* this.#delta(choice.delta ?? choice.message ?? {});
    if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") {
      this.#finishReason = choice.finish_reason;
    }
    this.#error = choice.error ?? this.#error;
  }

  /** Ends the answer; throws ProviderError where it is not complete. */
  *end(saidDone: boolean): Iterable<StreamEvent> {
    const reason = this.#finishReason;
    if (reason !== undefined) finishAnswer(this.#answer, reason, this.#error);
    else finishWithoutReason(this.#answer, saidDone);
    yield* this.#calls.end();
    this.#signThinking();
  }

  *#delta(delta: Delta): Iterable<StreamEvent> {
    const thinking = [delta.reasoning_content, delta.reasoning, delta.reasoning_text].find(isText);
    const shown = this.#details.take(delta.reasoning_details);
    if (thinking !== undefined) yield this.#answer.thinking(thinking);
    else if (shown !== "") yield this.#answer.thinking(shown);
    yield* this.#content(delta.content);
    if (isText(delta.refusal)) yield this.#answer.text(delta.refusal);
    const parts = delta.tool_calls ?? [];
    if (!Array.isArray(parts)) throw unknownShape(delta);
    for (const part of parts) yield* this.#calls.take(part);
    if (delta.function_call) yield* this.#calls.take({ index: 0, function: delta.function_call });
  }

  /** Text; Mistral sends parts, with its thinking among them. */
  *#content(content: unknown): Iterable<StreamEvent> {
    if (isText(content)) yield this.#answer.text(content);
    if (!Array.isArray(content)) return;
    for (const part of content as readonly { type?: unknown; text?: unknown; thinking?: unknown }[]) {
      const thinking = Array.isArray(part?.thinking)
        ? part.thinking.map((inner: { text?: unknown }) => (isText(inner?.text) ? inner.text : "")).join("")
        : part?.thinking;
      if (isText(thinking)) yield this.#answer.thinking(thinking);
      else if (isText(part?.text)) yield this.#answer.text(part.text);
    }
  }

  #signThinking(): void {
    const details = this.#details.all;
    if (details.length === 0) return;
    const { content } = this.#answer.message;
    const block = content.find((found): found is ThinkingContent => found.type === "thinking");
    const thinkingSignature = jsonText({ reasoning_details: details });
    if (block !== undefined) block.thinkingSignature = thinkingSignature;
    else this.#answer.add({ type: "thinking", thinking: "", thinkingSignature, redacted: true });
  }
}

/** A chunk has choices, or at least a usage; what has neither and speaks of an error is one. */
function soundChunk(event: unknown): Chunk {
  if (typeof event !== "object" || event === null) {
    throw new ProviderError({
      kind: "garbled",
      message: "The server sent a chunk that is no object.",
      body: event,
    });
  }
  const chunk = event as Chunk & Record<string, unknown>;
  const { base_resp: verdict } = chunk;
  if (verdict?.status_code) throw refusal({ body: { ...verdict, message: verdict.status_msg } });
  // Google's refusals are lists.
  const isError =
    (Array.isArray(event) && isFields(event[0])) || chunk.object === "error" || chunk.type === "error";
  const speaks = ["message", "msg", "detail", "error"].some((field) => isText(chunk[field]));
  if (!Array.isArray(chunk.choices) && (isError || speaks)) throw refusal({ body: event });
  const { choices } = chunk;
  const isSound =
    choices === undefined || choices === null || (Array.isArray(choices) && choices.every(isFields));
  if (!isSound || Array.isArray(event)) throw unknownShape(event);
  return chunk;
}

function unknownShape(body: unknown): ProviderError {
  return new ProviderError({
    kind: "garbled",
    message: "The server sent a chunk of an unknown shape.",
    body,
  });
}

function isFields(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
