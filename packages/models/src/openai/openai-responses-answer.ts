import { isRecord, jsonText } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import { finishAnswer, finishWithoutReason } from "../failure/answer-end.ts";
import type { StreamEvent } from "../model-request.ts";
import { ProviderError } from "../provider.ts";
import { malformed, refusal } from "../wire/errors.ts";
import { argumentsText, idIn, textIn } from "../wire/fields.ts";
import type { AnswerReading } from "../wire/stream.ts";
import { openAiUsage } from "./openai-wire.ts";

type Fields = Record<string, unknown>;

/** The fields of all types of events. */
interface ResponsesEvent extends Fields {
  response?: ResponseObject | null;
  item?: Fields | null;
}

interface ResponseObject extends Fields {
  output?: readonly Fields[] | null;
  incomplete_details?: Fields | null;
}

type ItemKind = "text" | "thinking" | "call";

/** An item of the answer. */
interface OpenItem {
  /** Absent until the item has visible content. */
  contentIndex?: number;
  /** Arguments that arrived before their call. */
  early?: string;
  /** Characters that arrived in pieces. */
  chars: number;
}

/** Reads the events of a Responses stream into an answer. */
export class ResponsesAnswer implements AnswerReading {
  readonly #answer: AnswerBuilder;
  readonly #items = new Map<string, OpenItem>();
  /** Complete calls, by key and id: some servers end them twice. */
  readonly #endedCalls = new Set<string>();
  isFinished = false;

  constructor(answer: AnswerBuilder) {
    this.#answer = answer;
  }

  get isComplete(): boolean {
    return this.isFinished;
  }

  *take(raw: unknown): Iterable<StreamEvent> {
    const event = checkedEvent(raw);
    switch (event.type) {
      case "response.output_item.added":
        yield* this.#added(event);
        break;
      case "response.reasoning_summary_part.added":
        if (this.#item(event, "thinking").chars > 0) yield* this.#words(event, "thinking", "\n\n");
        break;
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        yield* this.#words(event, "thinking", event.delta);
        break;
      case "response.output_text.delta":
      case "response.refusal.delta":
        yield* this.#words(event, "text", event.delta);
        break;
      case "response.function_call_arguments.delta":
        yield* this.#arguments(event, event.delta);
        break;
      case "response.output_item.done":
        yield* this.#done(event);
        break;
      default:
        if (event.response) yield* this.#response(event.response, event.type === "response.created");
    }
  }

  /** Ends the answer. Throws ProviderError without its last event. */
  end(isDone: boolean): Iterable<StreamEvent> {
    if (!this.isFinished) finishWithoutReason(this.#answer, isDone && !this.#answer.hasOpenCall);
    return [];
  }

  *#added(event: ResponsesEvent): Iterable<StreamEvent> {
    const { item } = event;
    if (item?.type !== "function_call") return;
    const open = this.#item(event, "call");
    const { namespace } = item;
    open.contentIndex ??= this.#answer.beginCall({
      id: idIn(item.call_id ?? item.id),
      name: textIn(item.name),
      ...(typeof namespace === "string" && { namespace }),
    });
    const { early = "" } = open;
    delete open.early;
    yield this.#answer.callArguments(open.contentIndex, early);
  }

  *#words(event: ResponsesEvent, kind: "thinking" | "text", delta: unknown): Iterable<StreamEvent> {
    if (typeof delta !== "string" || delta === "") return;
    const open = this.#item(event, kind);
    const isText = kind === "text";
    open.contentIndex ??= this.#answer.add(
      isText ? { type: "text", text: "" } : { type: "thinking", thinking: "" },
    );
    open.chars += delta.length;
    yield isText ? this.#answer.text(delta) : this.#answer.thinking(delta);
  }

  *#arguments(event: ResponsesEvent, delta: unknown): Iterable<StreamEvent> {
    const open = this.#item(event, "call");
    if (typeof delta !== "string") return;
    open.chars += delta.length;
    if (open.contentIndex === undefined) open.early = (open.early ?? "") + delta;
    else yield this.#answer.callArguments(open.contentIndex, delta);
  }

  /** Adds the content of a complete item that did not arrive in pieces. */
  *#done(event: ResponsesEvent): Iterable<StreamEvent> {
    const item = event.item ?? {};
    if (item.type === "message") {
      const open = this.#item(event, "text");
      if (open.chars === 0) yield* this.#words(event, "text", joined(item.content, ""));
      this.#signText(open, item);
      this.#items.delete(keyOf(event, "text"));
    } else if (item.type === "reasoning") {
      const open = this.#item(event, "thinking");
      if (open.chars === 0)
        yield* this.#words(event, "thinking", joined(item.summary, "\n\n") || joined(item.content, "\n\n"));
      this.#answer.signThinking(open.contentIndex, jsonText(item));
      this.#items.delete(keyOf(event, "thinking"));
    } else if (item.type === "function_call") yield* this.#callDone(event, item);
  }

  *#callDone(event: ResponsesEvent, item: Fields): Iterable<StreamEvent> {
    const key = keyOf(event, "call");
    const ended = `${key} ${idIn(item.call_id ?? item.id)}`;
    const open = this.#item(event, "call");
    if (open.contentIndex === undefined && this.#endedCalls.has(ended)) return;
    this.#endedCalls.add(ended);
    if (open.contentIndex === undefined) yield* this.#added(event);
    const whole = argumentsText(item.arguments);
    if (open.chars === 0) yield* this.#arguments(event, whole);
    this.#items.delete(key);
    // An item without arguments does not replace the parts.
    yield this.#answer.endCall(open.contentIndex as number, whole);
  }

  #signText({ contentIndex }: OpenItem, { id, phase }: Fields): void {
    if (contentIndex === undefined || typeof phase !== "string") return;
    const block = this.#answer.message.content[contentIndex];
    if (block?.type === "text") block.textSignature = JSON.stringify({ v: 1, id, phase });
  }

  *#response(response: ResponseObject, isCreated: boolean): Iterable<StreamEvent> {
    const { id, model, status, usage } = response;
    this.#answer.identify(id, model);
    if (isCreated || status === "in_progress" || status === "queued") return;
    const counts = openAiUsage(usage);
    if (counts !== undefined) this.#answer.setUsage(counts);
    yield* this.#rest(response.output ?? []);
    this.#finish(response);
    this.isFinished = true;
  }

  /** Adds the items of an answer that came in one piece, and ends the open calls. */
  *#rest(output: readonly Fields[]): Iterable<StreamEvent> {
    const hasContent = this.#answer.message.content.length > 0;
    for (const [index, item] of output.entries()) {
      if (!hasContent) yield* this.#done({ item, output_index: `rest ${index}` });
      // Some servers send no event for the end of a call.
      else if (this.#items.has(keyOf({ item, output_index: index }, "call")))
        yield* this.#done({ item, output_index: index });
    }
  }

  #finish({ status, error, incomplete_details: details }: ResponseObject): void {
    if (status === "failed" || isRecord(error))
      throw refusal({ body: { error: error ?? { message: "The response failed." } } });
    if (status === "cancelled")
      throw new ProviderError({ kind: "cut", message: "The server cancelled the response.", code: status });
    const why = typeof details?.reason === "string" ? details.reason : "max_output_tokens";
    finishAnswer(this.#answer, status === "incomplete" ? why : String(status ?? "completed"));
  }

  /** Servers number each kind separately, or every item as 0. */
  #item(event: ResponsesEvent, kind: ItemKind): OpenItem {
    const key = keyOf(event, kind);
    const known = this.#items.get(key);
    if (known !== undefined) return known;
    const open: OpenItem = { chars: 0 };
    this.#items.set(key, open);
    return open;
  }
}

/** Uses the index first: on some servers, the id of an item differs between its events. */
function keyOf({ output_index: index, item_id: id, item }: ResponsesEvent, kind: ItemKind): string {
  const named = index ?? id ?? item?.id;
  return `${kind} ${typeof named} ${typeof named === "object" ? "" : String(named)}`;
}

/** Validates an event. */
function checkedEvent(raw: unknown): ResponsesEvent {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    throw malformed("The server sent an event that is not a JSON object.", raw);
  }
  const event = raw as ResponsesEvent;
  if (event.object === "response") return { response: raw as ResponseObject };
  if (event.type === "error" || (typeof event.type !== "string" && hasErrorText(raw)))
    throw refusal({ body: raw });
  if (typeof event.type !== "string") throw malformed("The server sent an event without a type.", raw);
  return event;
}

/** True for an error without an event around it. */
function hasErrorText(raw: object): boolean {
  const { message, msg, detail, error, code } = raw as Record<string, unknown>;
  return [message, msg, detail, error, code].some((said) => (said ?? "") !== "");
}

function joined(parts: unknown, between: string): string {
  const texts = ((parts ?? []) as readonly Fields[]).map((part) => part.text ?? part.refusal);
  return texts.filter((text) => typeof text === "string").join(between);
}
