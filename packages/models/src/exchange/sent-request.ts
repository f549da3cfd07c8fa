import {
  type AssistantMessage,
  BonsaiError,
  type ImageContent,
  inputTokens,
  jsonText,
  type Message,
  type ProviderSummary,
  tokenEstimator,
} from "@bonsai-agent/messages";
import type { KeySource } from "../keys/keys.ts";
import {
  type CatalogueModel,
  isReachable,
  type ProviderConfig,
  type ThinkingLevel,
  usualOutputCap,
} from "../model.ts";
import type { ModelFailure, ModelRequest, Repair } from "../model-request.ts";
import {
  blamesProviderSummary,
  hasProviderSummary,
  withoutProviderSummary,
  withReadableSummaries,
} from "../provider-summary.ts";
import { repairMessages, repairOf } from "../repair/repair.ts";
import { imagesOf, type RepairOptions, withoutImages, withoutOlderImages } from "../repair/repair-content.ts";
import type { RefusedImages, WithoutThinking } from "./learned.ts";
import { imagesToOmit, refusedImageLine } from "./refused-images.ts";

interface SentRequestOptions {
  request: ModelRequest;
  /** With its learned window. */
  model: CatalogueModel;
  apiKey: string | undefined;
  /** The thinking of this context that the provider has refused. */
  without: WithoutThinking | undefined;
  refusedImages: RefusedImages;
  /** The items of refused providers' summaries. */
  refusedSummaries: WeakSet<object>;
  onRepairs: (repairs: readonly Repair[]) => void;
}

/** The data that the attempts of one request send, and its repairs between them. */
export class SentRequest {
  apiKey: string | undefined;
  /** The estimate of messages, system prompt and tools. */
  readonly inputTokens: number;
  readonly cap: OutputCap;
  messages: readonly Message[];
  /** The body of the latest attempt. */
  payload: unknown;
  thinking: ThinkingLevel;
  hasDroppedThinking = false;
  /** The images that were left out after a refusal. */
  omittedImages: OmittedImages | undefined;
  /** The provider's own summary that was left out after a refusal, with the provider's words. */
  refusedSummary: { summary: ProviderSummary; reason: string } | undefined;
  readonly #model: CatalogueModel;
  readonly #onRepairs: SentRequestOptions["onRepairs"];

  constructor(options: SentRequestOptions) {
    const { request, model, apiKey, without, refusedImages, refusedSummaries, onRepairs } = options;
    this.apiKey = apiKey;
    this.#model = model;
    this.#onRepairs = onRepairs;
    this.thinking = without?.isOff ? "off" : (request.thinking ?? "off");
    const readable = withReadableSummaries(request.messages, model, refusedSummaries);
    this.messages = this.#repaired(refusedImages.without(readable, model), {
      prefixChangedAtMs: request.prefixChangedAtMs,
      dropThinkingUpToMs: without?.upToMs,
    });
    this.inputTokens = requestTokens({ ...request, messages: this.messages });
    this.cap = new OutputCap(model, this.inputTokens, request.maxOutputTokens);
  }

  #repaired(
    messages: readonly Message[],
    options: Omit<RepairOptions, "messages" | "model">,
  ): readonly Message[] {
    const repaired = repairMessages({ messages, model: this.#model, ...options });
    this.#onRepairs(repaired.repairs);
    return repaired.messages;
  }

  /** The minimum size of earlier requests with this history that the server accepted: by usage, else by estimate. */
  get acceptedTokens(): number {
    let acceptedTokens = 0;
    let beforeTokens = 0;
    for (const message of this.messages) {
      if (isAnswerOf(message, this.#model))
        acceptedTokens = Math.max(
          acceptedTokens,
          inputTokens(message.usage),
          beforeTokens / MAX_ESTIMATE_ERROR,
        );
      beforeTokens += messageTokens(message);
    }
    return acceptedTokens;
  }

  get hasImages(): boolean {
    return this.messages.some((message) => imagesOf(message).length > 0);
  }

  /**
   * Leaves out all thinking and switches it off: some servers demand the thinking of earlier calls while it is on. Returns
   * false if that changes nothing.
   */
  dropThinking(): boolean {
    const messages = this.#repaired(this.messages, { dropThinkingUpToMs: Number.POSITIVE_INFINITY });
    if (messages === this.messages && this.thinking === "off") return false;
    this.hasDroppedThinking = true;
    this.thinking = "off";
    this.messages = messages;
    return true;
  }

  /**
   * Sends the readable summary instead of the provider's own, if the refusal is about that one. Returns false if the
   * request has none.
   */
  dropProviderSummary(failure: ModelFailure): boolean {
    const [first, ...rest] = this.messages;
    if (!hasProviderSummary(first) || !blamesProviderSummary(failure)) return false;
    this.messages = [withoutProviderSummary(first), ...rest];
    this.refusedSummary = { summary: first.provider, reason: failure.message };
    return true;
  }

  /** Leaves out the images of older messages. Returns false if there are none. */
  dropImages(): boolean {
    const before = this.messages;
    this.messages = withoutOlderImages(before);
    const count = this.messages.filter((message, index) => message !== before[index]).length;
    if (count > 0) this.#onRepairs([repairOf("too_many_bytes", count)]);
    return count > 0;
  }

  /** Leaves out the images that may be the reason for the refusal. Returns false if no image can be the reason. */
  omitRefusedImages(failure: ModelFailure): boolean {
    const { messages, payload } = this;
    const earlier = this.omittedImages?.images ?? [];
    const isAnswer = (message: Message) => isAnswerOf(message, this.#model);
    const images = imagesToOmit({ messages, payload, failure, omitted: earlier.length, isAnswer });
    if (images.length === 0) return false;
    const omitted = new Set(images);
    const line = refusedImageLine(failure.message);
    this.messages = withoutImages(messages, (image) => (omitted.has(image) ? line : undefined));
    this.omittedImages = { images: [...earlier, ...images], reason: failure.message, line };
    return true;
  }
}

interface OmittedImages {
  images: readonly ImageContent[];
  /** In the provider's words. */
  reason: string;
  /** Replaces each image. */
  line: string;
}

/** An estimate can be this many times too high. */
const MAX_ESTIMATE_ERROR = 2.5;

function isAnswerOf(message: Message, { provider, id }: CatalogueModel): message is AssistantMessage {
  if (message?.role !== "assistant" || message.provider !== provider || message.model !== id) return false;
  return message.stopReason !== "error" && message.stopReason !== "aborted";
}

/** With fewer tokens for the answer, the input must shrink. */
const MIN_OUTPUT_TOKENS = 1_024;
/** After this many refusals of the cap in one request, the input is too long. */
const MAX_LOWERINGS = 2;

class OutputCap {
  tokens: number;
  #lowerings = 0;

  constructor(model: CatalogueModel, inputTokens: number, wantedTokens = usualOutputCap(model)) {
    const { contextWindow = 0, maxOutputTokens = 0 } = model;
    const left = contextWindow > 0 ? contextWindow - inputTokens : Number.POSITIVE_INFINITY;
    const own = maxOutputTokens > 0 ? maxOutputTokens : Number.POSITIVE_INFINITY;
    this.tokens = Math.max(1, Math.min(wantedTokens, own, Math.max(MIN_OUTPUT_TOKENS, left)));
  }

  /** Lowers the cap after a refusal, by its numbers or to half. Returns undefined if too little is left. */
  lower(failure: ModelFailure): { fromTokens: number; toTokens: number } | undefined {
    const fromTokens = this.tokens;
    const toTokens = this.#lowered(failure);
    // A limit of the model is independent of the window.
    const minTokens = failure.outputLimitTokens === undefined ? MIN_OUTPUT_TOKENS : 1;
    if (this.#lowerings >= MAX_LOWERINGS || toTokens < minTokens) return undefined;
    this.#lowerings += 1;
    this.tokens = toTokens;
    return { fromTokens, toTokens };
  }

  #lowered({ windowTokens, inputTokens, outputLimitTokens }: ModelFailure): number {
    const half = Math.floor(this.tokens / 2);
    const limit = outputLimitTokens ?? (windowTokens ?? Number.NaN) - (inputTokens ?? Number.NaN);
    if (Number.isNaN(limit)) return half;
    // "At least N input tokens": such a count may be too low the second time.
    return this.#lowerings === 0 && limit < this.tokens ? limit : Math.min(limit, half);
  }
}

/** Messages do not change, and each request of a session contains them again. */
const known = new WeakMap<Message, number>();

function requestTokens({ systemPrompt, tools, messages }: ModelRequest): number {
  const fixed = tokenEstimator.text(systemPrompt) + tokenEstimator.text(jsonText(tools));
  return messages.reduce((sum, message) => sum + messageTokens(message), fixed);
}

function messageTokens(message: Message): number {
  const cached = known.get(message);
  if (cached !== undefined) return cached;
  const tokens = tokenEstimator.message(message);
  known.set(message, tokens);
  return tokens;
}

/**
 * Returns the key for a request; undefined if none is needed.
 * @throws BonsaiError `key_missing`, `provider_not_set_up` if the provider lacks another setting; what the key source throws
 */
export async function requestKey(
  provider: ProviderConfig,
  keys: KeySource | undefined,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const { missing, apiKeyEnv, provider: name, login } = provider;
  if (missing !== undefined)
    throw new BonsaiError({
      /** A provider lacks a setting other than its key. The message names it. */
      code: "provider_not_set_up",
      message: missing,
      hint: "Then restart bonsai or run /reload.",
    });
  const key = keys?.freshKey === undefined ? keys?.key(provider) : await keys.freshKey(provider, { signal });
  if (key !== undefined || isReachable(provider, undefined)) return key;
  if (apiKeyEnv === undefined)
    throw new BonsaiError({
      code: "key_missing",
      message: `You are not logged in to ${name}${login === undefined ? "" : ` (${login})`}.`,
      hint: `Run /login ${name}, or \`bonsai login ${name}\` in a shell.`,
    });
  throw new BonsaiError({
    code: "key_missing",
    message: `No API key for ${name}: ${apiKeyEnv} is not set, and no key is stored.`,
    hint: `Store a key with /login or \`bonsai login ${name}\`, or set ${apiKeyEnv} in the environment.`,
  });
}
