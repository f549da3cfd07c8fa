import type { ProviderApi } from "@bonsai-agent/models";
import { answerWithKey, type PiAskOptions, type PiContext } from "../models/ask.ts";
import type { AssistantMessageEventStream } from "../models/assistant-stream.ts";
import { bonsaiModel, type GivenModel } from "../models/pi-model.ts";
import { piStream } from "../models/to-pi-events.ts";

export type WireStream = (
  model: GivenModel,
  context: PiContext,
  options?: PiAskOptions,
) => AssistantMessageEventStream;

/** Streams over one protocol, whatever the model says of its own, with the key of the options. */
export function wireStream(api: ProviderApi): WireStream {
  return (model, context, options = {}) =>
    piStream(answerWithKey({ ...bonsaiModel(model), api }, context, options));
}

/** A protocol as a pair of functions, as pi's providers take it. */
export function wireApi(api: ProviderApi): () => { stream: WireStream; streamSimple: WireStream } {
  return () => ({ stream: wireStream(api), streamSimple: wireStream(api) });
}
