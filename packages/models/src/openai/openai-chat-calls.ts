import { jsonText, type ToolCall } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import type { StreamEvent } from "../stream-event.ts";
import { idIn } from "../wire-text.ts";

/** A part of a tool call as it comes; servers leave out whatever they like. */
export interface CallPart {
  index?: unknown;
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown } | null;
  /** Where Gemini has its signature. */
  extra_content?: { google?: { thought_signature?: unknown } | null } | null;
}

interface OpenCall {
  index: number | undefined;
  contentIndex: number;
  call: ToolCall;
  hasArguments: boolean;
}

/** The tool calls of one answer. Owner of which part belongs to which call. */
export class ChatCalls {
  readonly #answer: AnswerBuilder;
  readonly #open: OpenCall[] = [];

  constructor(answer: AnswerBuilder) {
    this.#answer = answer;
  }

  *take(part: CallPart): Iterable<StreamEvent> {
    const name = stringOf(part.function?.name);
    const id = idIn(part.id);
    const known = this.#callOf(part, id, name);
    const open = known ?? this.#begin(part);
    if (open.call.id === "") open.call.id = id;
    addName(open.call, name);
    const signature = stringOf(part.extra_content?.google?.thought_signature);
    if (signature !== "") open.call.thoughtSignature = signature;
    const delta = argumentsText(part.function?.arguments);
    if (delta !== "" || known === undefined) yield this.#answer.callArguments(open.contentIndex, delta);
    if (delta !== "") open.hasArguments = true;
  }

  /** Ends all calls, in order. */
  *end(): Iterable<StreamEvent> {
    for (const { contentIndex } of this.#open.splice(0)) yield this.#answer.endCall(contentIndex);
  }

  /**
   * By index, else by id; a part with neither goes on with the last call. Some servers count every call as 0: then a
   * new id together with a name begins another one (an id alone does not: others send a new one with each part).
   */
  #callOf(part: CallPart, id: string, name: string): OpenCall | undefined {
    const last = this.#open.at(-1);
    if (typeof part.index === "number") {
      const known = this.#open.findLast(({ index }) => index === part.index);
      const isOther =
        known !== undefined && name !== "" && id !== "" && known.call.id !== "" && known.call.id !== id;
      return isOther ? undefined : known;
    }
    if (id !== "") return this.#open.find(({ call }) => call.id === id) ?? (name === "" ? last : undefined);
    // A whole call, once more without any mark: the one before it has its name and arguments.
    return name !== "" && last?.hasArguments ? undefined : last;
  }

  #begin(part: CallPart): OpenCall {
    const contentIndex = this.#answer.beginCall({ id: "", name: "" });
    const open: OpenCall = {
      index: typeof part.index === "number" ? part.index : undefined,
      contentIndex,
      call: this.#answer.message.content[contentIndex] as ToolCall,
      hasArguments: false,
    };
    this.#open.push(open);
    return open;
  }
}

/** Names come whole, in pieces, growing, or again with each part. */
function addName(call: ToolCall, piece: string): void {
  call.name = piece.startsWith(call.name) ? piece : call.name + piece;
}

/** JSON text; some servers send the object itself. */
function argumentsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : jsonText(value);
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
