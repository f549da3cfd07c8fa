/** The protocols that models are spoken to in. */
export type WireName = "anthropic-messages" | "openai-responses" | "openai-chat";

/** An event of a stream; `data` that is a text goes over the wire as it is. */
export interface WireEvent {
  event?: string;
  data: unknown;
}

export interface WireCall {
  id: unknown;
  name: unknown;
  /** JSON text, sent in two pieces. */
  arguments: string;
}

/** Whole input and output, as a server counts them; whatever a server may send in their place. */
interface WireUsage {
  input: unknown;
  output: unknown;
}

/** A model's answer, for any protocol. */
export interface WireAnswer {
  thinking?: string;
  text?: string;
  calls?: readonly WireCall[];
  /** Default: 100 and 10. Undefined leaves it out. */
  usage?: WireUsage | undefined;
}

/** A protocol: the events of a sound answer, and single events for faults. */
export interface Wire {
  /** All events of a sound answer, the last one included. */
  answer(answer: WireAnswer): WireEvent[];
  /** Up to where the answer's text begins. */
  opening(kind: "text" | "thinking"): WireEvent[];
  /** A piece after `opening`. A faulty server sends other values than a text. */
  piece(kind: "text" | "thinking", delta: unknown): WireEvent;
  /** A sign of life. */
  ping(): WireEvent;
  /** An event that holds its parts as `part` says, where there is one part of an answer: null, a number, a list. */
  odd(part: unknown): WireEvent;
}

const MODEL = "model-1";
const soundUsage: WireUsage = { input: 100, output: 10 };

function usageOf(answer: WireAnswer): WireUsage | undefined {
  return "usage" in answer ? answer.usage : soundUsage;
}

function halves(text: string): [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

function named(data: { type: string } & Record<string, unknown>): WireEvent {
  return { event: data.type, data };
}

const anthropic: Wire = {
  answer: (answer) => {
    const { thinking, text, calls = [] } = answer;
    const usage = usageOf(answer);
    let index = 0;
    const block = (start: object, deltas: readonly object[]): WireEvent[] => {
      const at = index++;
      return [
        named({ type: "content_block_start", index: at, content_block: start }),
        ...deltas.map((delta) => named({ type: "content_block_delta", index: at, delta })),
        named({ type: "content_block_stop", index: at }),
      ];
    };
    return [
      anthropicStart(usage),
      ...(thinking === undefined
        ? []
        : block({ type: "thinking", thinking: "", signature: "" }, [{ type: "thinking_delta", thinking }])),
      ...(text === undefined
        ? []
        : block(
            { type: "text", text: "" },
            halves(text).map((half) => ({ type: "text_delta", text: half })),
          )),
      ...calls.flatMap(({ id, name, arguments: json }) =>
        block(
          { type: "tool_use", id, name, input: {} },
          halves(json).map((partial_json) => ({ type: "input_json_delta", partial_json })),
        ),
      ),
      named({
        type: "message_delta",
        delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn" },
        ...(usage && { usage: { output_tokens: usage.output } }),
      }),
      named({ type: "message_stop" }),
    ];
  },
  opening: (kind) => [
    anthropicStart(soundUsage),
    named({
      type: "content_block_start",
      index: 0,
      content_block: kind === "text" ? { type: "text", text: "" } : { type: "thinking", thinking: "" },
    }),
  ],
  piece: (kind, value) => {
    const delta =
      kind === "text" ? { type: "text_delta", text: value } : { type: "thinking_delta", thinking: value };
    return named({ type: "content_block_delta", index: 0, delta });
  },
  ping: () => named({ type: "ping" }),
  odd: (part) => named({ type: "content_block_start", index: 0, content_block: part }),
};

function anthropicStart(usage: WireUsage | undefined): WireEvent {
  const counted = usage && { usage: { input_tokens: usage.input, output_tokens: 1 } };
  return named({
    type: "message_start",
    message: { id: "msg_1", type: "message", role: "assistant", model: MODEL, content: [], ...counted },
  });
}

const responses: Wire = {
  answer: (answer) => {
    const { thinking, text, calls = [] } = answer;
    const usage = usageOf(answer);
    let index = 0;
    const item = (
      start: object,
      deltas: readonly ({ type: string } & object)[],
      end: object,
    ): WireEvent[] => {
      const output_index = index++;
      return [
        named({ type: "response.output_item.added", output_index, item: start }),
        ...deltas.map((delta) => named({ ...delta, output_index })),
        named({ type: "response.output_item.done", output_index, item: { ...start, ...end } }),
      ];
    };
    const said = (type: string, parts: readonly string[]) => parts.map((delta) => ({ type, delta }));
    return [
      responsesStart(),
      ...(thinking === undefined
        ? []
        : item({ type: "reasoning", id: "rs_1" }, said("response.reasoning_text.delta", [thinking]), {
            summary: [],
          })),
      ...(text === undefined
        ? []
        : item(
            { type: "message", id: "msg_1", role: "assistant" },
            said("response.output_text.delta", halves(text)),
            { content: [{ type: "output_text", text }] },
          )),
      ...calls.flatMap(({ id, name, arguments: json }) =>
        item(
          { type: "function_call", id: "fc_1", call_id: id, name, arguments: "" },
          said("response.function_call_arguments.delta", halves(json)),
          { arguments: json },
        ),
      ),
      named({
        type: "response.completed",
        response: {
          id: "resp_1",
          object: "response",
          model: MODEL,
          status: "completed",
          output: [],
          ...(usage && { usage: { input_tokens: usage.input, output_tokens: usage.output } }),
        },
      }),
    ];
  },
  opening: (kind) => [
    responsesStart(),
    named({
      type: "response.output_item.added",
      output_index: 0,
      item: { type: kind === "text" ? "message" : "reasoning", id: "item_1" },
    }),
  ],
  piece: (kind, delta) =>
    named({
      type: kind === "text" ? "response.output_text.delta" : "response.reasoning_text.delta",
      output_index: 0,
      delta,
    }),
  ping: () => named({ type: "response.in_progress", response: { id: "resp_1", status: "in_progress" } }),
  odd: (part) =>
    named({ type: "response.output_item.done", output_index: 0, item: { type: "message", content: [part] } }),
};

function responsesStart(): WireEvent {
  return named({
    type: "response.created",
    response: { id: "resp_1", object: "response", model: MODEL, status: "in_progress", output: [] },
  });
}

const chat: Wire = {
  answer: (answer) => {
    const { thinking, text, calls = [] } = answer;
    const usage = usageOf(answer);
    return [
      ...(thinking === undefined ? [] : [chatDelta({ reasoning_content: thinking })]),
      ...(text === undefined ? [] : halves(text).map((content) => chatDelta({ content }))),
      ...calls.flatMap(({ id, name, arguments: json }, index) => {
        const [first, second] = halves(json);
        return [
          chatDelta({ tool_calls: [{ index, id, function: { name, arguments: first } }] }),
          chatDelta({ tool_calls: [{ index, function: { arguments: second } }] }),
        ];
      }),
      chatDelta({}, calls.length > 0 ? "tool_calls" : "stop"),
      ...(usage
        ? [chatChunk({ choices: [], usage: { prompt_tokens: usage.input, completion_tokens: usage.output } })]
        : []),
      { data: "[DONE]" },
    ];
  },
  opening: () => [chatDelta({ role: "assistant", content: "" })],
  piece: (kind, value) => chatDelta(kind === "text" ? { content: value } : { reasoning_content: value }),
  ping: () => chatDelta({ content: "" }),
  odd: (part) => chatChunk({ choices: [part] }),
};

function chatDelta(delta: object, finish_reason: string | null = null): WireEvent {
  return chatChunk({ choices: [{ index: 0, delta, finish_reason }] });
}

function chatChunk(parts: object): WireEvent {
  return { data: { id: "chatcmpl-1", object: "chat.completion.chunk", model: MODEL, ...parts } };
}

/** Every protocol, by its name in the catalogue. */
export const wires: Readonly<Record<WireName, Wire>> = {
  "anthropic-messages": anthropic,
  "openai-responses": responses,
  "openai-chat": chat,
};
