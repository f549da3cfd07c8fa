import type { LoopbackReply } from "@bonsai-agent/testkit";
import { anthropicProvider } from "../src/anthropic/anthropic.ts";
import type { CatalogueModel, Provider, ProviderCall, StreamEvent } from "../src/index.ts";
import { openaiChatProvider } from "../src/openai/openai-chat.ts";
import { openaiResponsesProvider } from "../src/openai/openai-responses.ts";
import {
  streamOf as anthropicStream,
  callBlock,
  claude,
  messageEnd,
  messageStart,
  textBlock,
} from "./anthropic-exchange.ts";
import {
  callDelta,
  delta,
  finish,
  gpt,
  local,
  responseEnd,
  responsesOf,
  streamOf,
  usageChunk,
} from "./openai-exchange.ts";
import { type Exchange, exchangeWith } from "./provider-exchange.ts";

/** A protocol with its provider and the replies of its servers. */
export interface ProviderWire {
  model: CatalogueModel;
  provider: () => Provider;
  /** An answer that says "All.". */
  text: (usage?: Record<string, unknown>) => LoopbackReply;
  calls: (calls: readonly { id: string; name: string; args: string }[]) => LoopbackReply;
  /** The text pieces "Half" and "more", without an end. */
  half: () => LoopbackReply;
  /** A call of `write` without an end. */
  openCall: () => LoopbackReply;
  /** A call whose arguments come at once, as an object. */
  whole: (input: object) => LoopbackReply;
  /** Names of the called tools in a request. */
  names: (body: unknown) => unknown[];
}

const anthropic: ProviderWire = {
  model: claude,
  provider: anthropicProvider,
  text: (usage) =>
    anthropicStream([messageStart(usage), ...textBlock(0, "All."), ...messageEnd("end_turn", usage)]),
  calls: (calls) =>
    anthropicStream([
      messageStart(),
      ...calls.flatMap(({ id, name, args }, index) => callBlock(index, id, name, args)),
      ...messageEnd("tool_use"),
    ]),
  half: () => anthropicStream([messageStart(), ...textBlock(0, "Half", "more")]),
  openCall: () =>
    anthropicStream([messageStart(), ...callBlock(0, "t1", "write", '{"path":"a').slice(0, -1)]),
  whole: (input) => {
    const content_block = { type: "tool_use", id: "t1", name: "read", input };
    const start = { type: "content_block_start", index: 0, content_block };
    const stop = { type: "content_block_stop", index: 0 };
    return anthropicStream([messageStart(), start, stop, ...messageEnd("tool_use")]);
  },
  names: (body) =>
    (body as { messages: { content: { type: string; name?: string }[] }[] }).messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === "tool_use" ? block.name : [])),
    ),
};

const chat: ProviderWire = {
  model: local,
  provider: openaiChatProvider,
  text: (usage = { prompt_tokens: 5, completion_tokens: 2 }) =>
    streamOf([delta({ content: "All." }), finish(), usageChunk(usage), "[DONE]"]),
  calls: (calls) =>
    streamOf([
      ...calls.map(({ id, name, args }, index) =>
        callDelta({ index, id, function: { name, arguments: args } }),
      ),
      finish("tool_calls"),
      usageChunk({}),
      "[DONE]",
    ]),
  half: () => streamOf([delta({ content: "Half" }), delta({ content: "more" })]),
  openCall: () =>
    streamOf([callDelta({ index: 0, id: "t1", function: { name: "write", arguments: '{"path":"a' } })]),
  whole: (input) =>
    streamOf([
      callDelta({ index: 0, id: "t1", function: { name: "read", arguments: input } }),
      finish("tool_calls"),
      "[DONE]",
    ]),
  names: (body) =>
    (body as { messages: { tool_calls?: { function: { name: string } }[] }[] }).messages.flatMap(
      ({ tool_calls: calls = [] }) => calls.map((call) => call.function.name),
    ),
};

const textDelta = (delta: string) => ({ type: "response.output_text.delta", output_index: 0, delta });

const responses: ProviderWire = {
  model: gpt,
  provider: openaiResponsesProvider,
  text: (usage = { input_tokens: 5, output_tokens: 2 }) =>
    responsesOf([textDelta("All."), responseEnd({ usage })]),
  calls: (calls) =>
    responsesOf([
      ...calls.map(({ id, name, args }, output_index) => ({
        type: "response.output_item.done",
        output_index,
        item: { type: "function_call", call_id: id, name, arguments: args },
      })),
      responseEnd(),
    ]),
  half: () => responsesOf([textDelta("Half"), textDelta("more")]),
  openCall: () =>
    responsesOf([
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "function_call", call_id: "t1", name: "write" },
      },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"path":"a' },
    ]),
  whole: (input) => {
    const item = { type: "function_call", call_id: "t1", name: "read", arguments: input };
    return responsesOf([{ type: "response.output_item.done", output_index: 0, item }, responseEnd()]);
  },
  names: (body) =>
    (body as { input: { type?: string; name?: string }[] }).input.flatMap(({ type, name }) =>
      type === "function_call" ? name : [],
    ),
};

export const providerWires: readonly ProviderWire[] = [anthropic, chat, responses];

/** Sends one request over a wire to the server at `url` and reads until the end or the error. */
export function exchangeOver(
  { provider, model }: ProviderWire,
  url: string,
  parts: Partial<ProviderCall> = {},
  onEvent?: (event: StreamEvent) => void,
): Promise<Exchange> {
  return exchangeWith({ provider: provider(), model: { ...model, baseUrl: url }, parts, onEvent });
}
