import { isRecord, jsonText, type ToolCall } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import { finishAnswer, finishWithoutReason } from "../failure/answer-end.ts";
import type { StreamEvent } from "../model-request.ts";
import type { ProviderError } from "../provider.ts";
import { malformed, refusal } from "../wire/errors.ts";
import { argumentsText, idIn } from "../wire/fields.ts";
import type { AnswerReading } from "../wire/stream.ts";
import { openAiUsage } from "./openai-wire.ts";

type Fields = Record<string, unknown>;

/** A chunk of a stream, or a whole completion. Any field may be wrong. */
interface Chunk extends Fields {
  choices?: readonly Choice[] | null;
  x_groq?: Fields | null;
  base_resp?: Fields | null;
}

interface Choice extends Fields {
  delta?: Fields | null;
  /** Servers that answer in one piece use it. */
  message?: Fields | null;
}

/** Reads the chunks of a Chat Completions stream into an answer. */
export class ChatAnswer implements AnswerReading {
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

  /** True after the reason for the end. Only the usage can follow. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  get isComplete(): boolean {
    return this.isFinished && this.#hasUsage;
  }

  *take(event: unknown): Iterable<StreamEvent> {
    const chunk = checkedChunk(event);
    this.#answer.identify(this.#answer.message.responseId ?? chunk.id, chunk.model);
    const choice = chunk.choices?.find(({ index }) => (index ?? 0) === 0);
    if (choice !== undefined && !isRecord(choice.delta ?? choice.message ?? {})) throw unknownShape(event);
    // Moonshot sends it in the choice.
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

  /** Ends the answer. Throws ProviderError if it is incomplete. */
  *end(isDone: boolean): Iterable<StreamEvent> {
    const reason = this.#finishReason;
    if (saysSomething(this.#error)) throw refusal({ body: { error: this.#error } });
    if (reason !== undefined) finishAnswer(this.#answer, reason);
    else finishWithoutReason(this.#answer, isDone);
    yield* this.#calls.end();
    this.#signThinking();
  }

  *#delta(delta: Fields): Iterable<StreamEvent> {
    const thinking = [delta.reasoning_content, delta.reasoning, delta.reasoning_text].find(isText);
    const shown = this.#details.take(delta.reasoning_details);
    if (thinking !== undefined) yield this.#answer.thinking(thinking);
    else if (shown !== "") yield this.#answer.thinking(shown);
    yield* this.#content(delta.content);
    if (isText(delta.refusal)) yield this.#answer.text(delta.refusal);
    const parts = delta.tool_calls ?? [];
    if (!Array.isArray(parts)) throw unknownShape(delta);
    for (const part of parts) yield* this.#calls.take(part);
    if (delta.function_call)
      yield* this.#calls.take({ index: 0, function: delta.function_call as CallPart["function"] });
  }

  /** Mistral sends parts, which include its thinking. */
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
    const at = this.#answer.message.content.findIndex(({ type }) => type === "thinking");
    this.#answer.signThinking(at < 0 ? undefined : at, jsonText({ reasoning_details: details }));
  }
}

function saysSomething(error: unknown): boolean {
  return isRecord(error) ? Object.keys(error).length > 0 : Boolean(error);
}

const ERROR_TEXTS = ["message", "msg", "detail", "error", "error_message", "error_msg", "error_description"];

/** Validates a chunk. Without choices and with a text of an error it is a refusal. */
function checkedChunk(event: unknown): Chunk {
  if (typeof event !== "object" || event === null) {
    throw malformed("The server sent a chunk that is not a JSON object.", event);
  }
  const chunk = event as Chunk;
  const { base_resp: verdict } = chunk;
  if (verdict?.status_code) throw refusal({ body: { ...verdict, message: verdict.status_msg } });
  // Google's refusals are lists.
  const isError =
    (Array.isArray(event) && isRecord(event[0])) || chunk.object === "error" || chunk.type === "error";
  const hasErrorText =
    ERROR_TEXTS.some((field) => isText(chunk[field])) || chunk.errors || chunk.promptFeedback;
  if (!Array.isArray(chunk.choices) && (isError || hasErrorText)) throw refusal({ body: event });
  const { choices } = chunk;
  const isSound =
    choices === undefined || choices === null || (Array.isArray(choices) && choices.every(isRecord));
  if (!isSound || Array.isArray(event)) throw unknownShape(event);
  return chunk;
}

function unknownShape(body: unknown): ProviderError {
  return malformed("The server sent a chunk in an unexpected format.", body);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** A part of a tool call. Servers leave out any field. */
interface CallPart {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown } | null;
  /** Gemini's signature. */
  extra_content?: { google?: { thought_signature?: unknown } | null } | null;
}

interface OpenCall {
  index: number | undefined;
  contentIndex: number;
  call: ToolCall;
  hasArguments: boolean;
}

/** The tool calls of one answer, and the assignment of parts to calls. */
class ChatCalls {
  readonly #answer: AnswerBuilder;
  readonly #open: OpenCall[] = [];

  constructor(answer: AnswerBuilder) {
    this.#answer = answer;
  }

  *take(part: CallPart): Iterable<StreamEvent> {
    const name = isText(part.function?.name) ? part.function.name : "";
    const id = idIn(part.id);
    const known = this.#callOf(part, id, name);
    const open = known ?? this.#begin(part);
    if (open.call.id === "") open.call.id = id;
    addName(open.call, name);
    const signature = part.extra_content?.google?.thought_signature;
    if (isText(signature)) open.call.thoughtSignature = signature;
    const delta = argumentsText(part.function?.arguments);
    if (delta !== "" || known === undefined) yield this.#answer.callArguments(open.contentIndex, delta);
    if (delta !== "") open.hasArguments = true;
  }

  *end(): Iterable<StreamEvent> {
    for (const { contentIndex } of this.#open.splice(0)) yield this.#answer.endCall(contentIndex);
  }

  /**
   * Finds the call of a part by index, else by id, else the last call. Some servers send index 0 for every call: a new id
   * with a name begins another call then. An id alone does not, because some servers send a new one with each part.
   */
  #callOf(part: CallPart, id: string, name: string): OpenCall | undefined {
    const last = this.#open.at(-1);
    const at = indexOf(part);
    if (at !== undefined) {
      const known = this.#open.findLast(({ index }) => index === at);
      const isOther =
        known !== undefined && name !== "" && id !== "" && known.call.id !== "" && known.call.id !== id;
      return isOther ? undefined : known;
    }
    if (id !== "") return this.#open.find(({ call }) => call.id === id) ?? (name === "" ? last : undefined);
    // A part with a name after complete arguments is another call.
    return name !== "" && last?.hasArguments ? undefined : last;
  }

  #begin(part: CallPart): OpenCall {
    const contentIndex = this.#answer.beginCall({ id: "", name: "" });
    const open: OpenCall = {
      index: indexOf(part),
      contentIndex,
      call: this.#answer.message.content[contentIndex] as ToolCall,
      hasArguments: false,
    };
    this.#open.push(open);
    return open;
  }
}

function indexOf({ index }: CallPart): number | undefined {
  if (typeof index === "number") return index;
  return typeof index === "string" && /^\d+$/.test(index) ? Number(index) : undefined;
}

/** Servers send names whole, in pieces, growing, or again with each part. */
function addName(call: ToolCall, piece: string): void {
  call.name = piece.startsWith(call.name) ? piece : call.name + piece;
}

/** Fields that arrive in pieces. */
const pieced = ["text", "summary", "data"];

/** OpenRouter's record of a model's thinking. It must be sent back unchanged. */
class ReasoningDetails {
  readonly all: Fields[] = [];

  /** Adds pieces. Returns their readable text. */
  take(pieces: unknown): string {
    if (!Array.isArray(pieces)) return "";
    return pieces.map((piece) => (isRecord(piece) ? this.#add(piece) : "")).join("");
  }

  #add(piece: Fields): string {
    const last = this.all.at(-1);
    const goesOn = last !== undefined && last.type === piece.type && (last.index ?? 0) === (piece.index ?? 0);
    if (goesOn && piece.type !== "reasoning.encrypted") merge(last, piece);
    else this.all.push({ ...piece });
    return [piece.text, piece.summary].filter((text) => typeof text === "string").join("");
  }
}

function merge(into: Fields, piece: Fields): void {
  for (const [field, value] of Object.entries(piece)) {
    const before = into[field];
    if (pieced.includes(field) && typeof before === "string" && typeof value === "string") {
      into[field] = before + value;
    } else if (value !== null && value !== undefined) into[field] = value;
  }
}
