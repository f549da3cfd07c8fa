import {
  type AssistantMessage,
  byScriptEstimator,
  type ImageContent,
  jsonText,
  type Message,
  promptTokens,
} from "@bonsai-agent/messages";
import { loadedWindow } from "../catalogue/server-window.ts";
import type { ModelFailure } from "../failure/failure.ts";
import { type CatalogueModel, isOllama, referenceOf, type ThinkingLevel, usualOutputCap } from "../model.ts";
import type { ModelRequest } from "../model-request.ts";
import {
  mayBlameImages,
  namedImages,
  newImages,
  type RefusedImages,
  refusedImageLine,
  suspectImages,
} from "../repair/refused-images.ts";
import {
  hasImages,
  imagesOf,
  type Repair,
  repairOf,
  withoutImages,
  withoutOlderImages,
} from "../repair/repair.ts";
import { repairMessages } from "../repair/repair-calls.ts";

interface OutgoingOptions {
  request: ModelRequest;
  /** With the window that its server taught. */
  model: CatalogueModel;
  apiKey: string | undefined;
  /** What the provider refused of this context before. */
  without: WithoutThinking | undefined;
  refusedImages: RefusedImages;
  onRepairs: (repairs: readonly Repair[]) => void;
}

/** What the attempts of one request send. Owner of what is repaired in it between them. */
export class Outgoing {
  apiKey: string | undefined;
  /** Estimated. */
  readonly inputTokens: number;
  readonly cap: OutputCap;
  messages: readonly Message[];
  /** The body of the latest attempt. */
  payload: unknown;
  thinking: ThinkingLevel;
  /** True when the provider refused the history and thinking was left out. */
  hasDroppedThinking = false;
  /** The images that were left out after a refusal. */
  omittedImages: OmittedImages | undefined;
  readonly #model: CatalogueModel;
  readonly #onRepairs: OutgoingOptions["onRepairs"];

  constructor({ request, model, apiKey, without, refusedImages, onRepairs }: OutgoingOptions) {
    const { prefixChangedAtMs, maxOutputTokens: wantedTokens, thinking = "off" } = request;
    this.apiKey = apiKey;
    this.#model = model;
    this.#onRepairs = onRepairs;
    this.thinking = without?.isOff ? "off" : thinking;
    const dropThinkingUpToMs = without?.upToMs;
    const { messages, repairs } = repairMessages({
      messages: refusedImages.without(request.messages, model),
      model,
      prefixChangedAtMs,
      dropThinkingUpToMs,
    });
    onRepairs(repairs);
    this.messages = messages;
    this.inputTokens = requestTokens({ ...request, messages });
    this.cap = new OutputCap(model, this.inputTokens, wantedTokens);
  }

  /** The server has taken at least this much of the history in earlier requests: by usage, else by estimate. */
  get acceptedTokens(): number {
    let acceptedTokens = 0;
    let beforeTokens = 0;
    for (const message of this.messages) {
      if (isAnswerOf(message, this.#model))
        acceptedTokens = Math.max(
          acceptedTokens,
          promptTokens(message.usage),
          beforeTokens / MAX_ESTIMATE_ERROR,
        );
      beforeTokens += messageTokens(message);
    }
    return acceptedTokens;
  }

  /** False where there is no image that could be left out. */
  get hasImages(): boolean {
    return hasImages(this.messages);
  }

  /**
   * Leaves all thinking out; false where that changes nothing, or nothing more. Thinking is switched off too: some servers ask for
   * the thinking of earlier calls while it is on.
   */
  repairHarder(): boolean {
    const { messages, repairs } = repairMessages({
      messages: this.messages,
      model: this.#model,
      dropThinkingUpToMs: Number.POSITIVE_INFINITY,
    });
    if (messages === this.messages && this.thinking === "off") return false;
    this.hasDroppedThinking = true;
    this.thinking = "off";
    this.messages = messages;
    this.#onRepairs(repairs);
    return true;
  }

  /** Leaves out the images of older messages; false where there are none, or no more. */
  dropImages(): boolean {
    const before = this.messages;
    this.messages = withoutOlderImages(before);
    const count = this.messages.filter((message, index) => message !== before[index]).length;
    if (count > 0) this.#onRepairs([repairOf("too_many_bytes", count)]);
    return count > 0;
  }

  /**
   * Leaves out the images that may be the reason for the refusal: first the suspects, after another refusal the rest.
   * Returns false if no image can be the reason.
   */
  omitRefusedImages(failure: ModelFailure): boolean {
    const all = this.messages.flatMap(imagesOf);
    const fresh = newImages(this.messages, (message) => isAnswerOf(message, this.#model));
    if (all.length === 0 || !mayBlameImages(failure, fresh.length > 0)) return false;
    const earlier = this.omittedImages;
    const refused = { images: all, fresh, payload: this.payload ?? {}, refusal: failure.message };
    const named = (earlier?.images.length ?? 0) < MAX_NAMED_IMAGES ? namedImages(refused) : [];
    const suspects = earlier === undefined ? suspectImages(refused) : named.length > 0 ? named : all;
    const omitted = new Set(suspects);
    const line = refusedImageLine(failure.message);
    this.messages = withoutImages(this.messages, (image) => (omitted.has(image) ? line : undefined));
    this.omittedImages = { images: [...(earlier?.images ?? []), ...suspects], reason: failure.message, line };
    return true;
  }
}

/** After this many omitted images, the next refusal omits all others at once. */
const MAX_NAMED_IMAGES = 4;

/** Images that were left out of a request. */
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

/** Fewer are no answer: the input is what has to shrink. */
const MIN_OUTPUT_TOKENS = 1_024;
/** Refusals of the cap in one request, after which the input is taken for too long. */
const MAX_LOWERINGS = 2;

/** A cap that was lowered. */
interface LoweredCap {
  fromTokens: number;
  toTokens: number;
}

/** How many tokens one answer may have: what was wanted, what the model can, what the window leaves. */
class OutputCap {
  #tokens: number;
  #lowerings = 0;

  /** @param inputTokens the estimate of the request */
  constructor(model: CatalogueModel, inputTokens: number, wantedTokens = usualOutputCap(model)) {
    const { contextWindow = 0, maxOutputTokens = 0 } = model;
    const left = contextWindow > 0 ? contextWindow - inputTokens : Number.POSITIVE_INFINITY;
    const own = maxOutputTokens > 0 ? maxOutputTokens : Number.POSITIVE_INFINITY;
    this.#tokens = Math.max(1, Math.min(wantedTokens, own, Math.max(MIN_OUTPUT_TOKENS, left)));
  }

  get tokens(): number {
    return this.#tokens;
  }

  /** Lowers the cap after a refusal, by its numbers, else to half; undefined where too little would be left. */
  lower(failure: ModelFailure): LoweredCap | undefined {
    const fromTokens = this.#tokens;
    const toTokens = this.#lowered(failure);
    // A limit of the model itself has nothing to do with the window.
    const leastTokens = failure.outputLimitTokens === undefined ? MIN_OUTPUT_TOKENS : 1;
    if (this.#lowerings >= MAX_LOWERINGS || toTokens < leastTokens) return undefined;
    this.#lowerings += 1;
    this.#tokens = toTokens;
    return { fromTokens, toTokens };
  }

  #lowered({ windowTokens, inputTokens, outputLimitTokens }: ModelFailure): number {
    const half = Math.floor(this.#tokens / 2);
    const left =
      windowTokens === undefined || inputTokens === undefined ? undefined : windowTokens - inputTokens;
    const limit = outputLimitTokens ?? left;
    if (limit === undefined) return half;
    // "At least N input tokens": a count that was not the last word does not hold twice.
    return this.#lowerings === 0 && limit < this.#tokens ? limit : Math.min(limit, half);
  }
}

/** What a context is asked without, because its provider refused it before. */
interface WithoutThinking {
  /** Thinking of answers up to this time is left out, in milliseconds since the epoch. */
  upToMs: number;
  /** Whether the model is asked not to think either: some servers want the thinking of earlier calls while it does. */
  isOff: boolean;
}

interface Refusal {
  contextMs: number;
  upToMs: number;
  count: number;
}

/** Refused once with thinking on in a later turn as well, a context is no longer asked with it. */
const MAX_REFUSALS = 2;

/**
 * Which contexts a provider refused for their thinking, for one client: to send them again as they are would cost a
 * refused request each time. By session and model, until the context changes.
 */
export class RefusedThinking {
  readonly #refusals = new Map<string, Refusal>();

  /** Nothing for a context that was not refused. */
  of(request: ModelRequest): WithoutThinking | undefined {
    const refusal = this.#refusals.get(keyOf(request));
    if (refusal === undefined || refusal.contextMs !== contextMs(request)) return undefined;
    const { upToMs, count } = refusal;
    const isSameTurn = !request.messages.some(
      (message) => message?.role === "user" && message.timestamp > upToMs,
    );
    return { upToMs, isOff: isSameTurn || count >= MAX_REFUSALS };
  }

  /** Remembers a context that was taken only after its thinking had been left out; it may be damaged in any way. */
  add(request: ModelRequest): void {
    const key = keyOf(request);
    const known = this.#refusals.get(key);
    const stamp = contextMs(request);
    const count = known?.contextMs === stamp ? known.count + 1 : 1;
    this.#refusals.set(key, { contextMs: stamp, upToMs: latest(request.messages), count });
  }
}

function keyOf({ model: { provider, id }, cacheKey = "" }: ModelRequest): string {
  return JSON.stringify([provider, id, cacheKey]);
}

/** When what stands in the context last changed otherwise than by growing. */
function contextMs({ messages, prefixChangedAtMs = Number.NEGATIVE_INFINITY }: ModelRequest): number {
  const summaries = messages.filter((message) => message?.role === "compactionSummary");
  return Math.max(prefixChangedAtMs, latest(summaries));
}

function latest(messages: ModelRequest["messages"]): number {
  const times = messages.map((message) => message?.timestamp ?? Number.NaN);
  return times.reduce((max, time) => (time > max ? time : max), Number.NEGATIVE_INFINITY);
}

/** Messages do not change and come again with every request of a session. */
const known = new WeakMap<Message, number>();

/** The estimated tokens of a whole request. */
function requestTokens({ systemPrompt, tools, messages }: ModelRequest): number {
  const fixed = byScriptEstimator.text(systemPrompt) + byScriptEstimator.text(jsonText(tools));
  return messages.reduce((sum, message) => sum + messageTokens(message), fixed);
}

function messageTokens(message: Message): number {
  const cached = known.get(message);
  if (cached !== undefined) return cached;
  const tokens = byScriptEstimator.message(message);
  known.set(message, tokens);
  return tokens;
}

/** Smaller is no model's window: the number meant something else. */
const MIN_WINDOW_TOKENS = 1_000;
/** Servers count their window a token or two short; that is not worth a word. */
const WORTH_KNOWING = 0.999;
/** A server may count so many tokens for each of ours; a usage above that is no count of what was sent. */
const MOST_SKEW = 1.5;

/** It has just answered a larger question. */
const ASK_TIMEOUT_MS = 1_000;

/** A window that is not what was believed. */
export interface LearnedWindow {
  fromTokens: number | undefined;
  toTokens: number;
}

/** What servers taught about their windows, for one client. Invariant: a learned window is smaller than the catalogue's. */
export class LearnedWindows {
  readonly #tokens = new Map<string, number>();
  /** Sized models, and what they were: what was learned may turn out wrong. */
  readonly #declared = new WeakMap<CatalogueModel, CatalogueModel>();
  /** The largest requests that were answered. */
  readonly #answered = new Map<string, number>();
  readonly #asked = new Set<string>();

  /** The model with the window that its server named, where that is smaller. */
  sized(model: CatalogueModel): CatalogueModel {
    const declared = this.#declared.get(model) ?? model;
    const learned = this.#tokens.get(referenceOf(model));
    const isSmaller = learned !== undefined && learned < (declared.contextWindow || Number.POSITIVE_INFINITY);
    if (!isSmaller) return declared;
    const sized = { ...declared, contextWindow: learned, declaredWindow: declared.contextWindow };
    this.#declared.set(sized, declared);
    return sized;
  }

  /**
   * Takes the window out of a refusal; undefined where it names none, or nothing new.
   * @param acceptedTokens a smaller window cannot be: the server has answered a request of this size
   */
  learn(
    model: CatalogueModel,
    { kind, windowTokens: toTokens }: ModelFailure,
    acceptedTokens = 0,
  ): LearnedWindow | undefined {
    if (kind !== "inputTooLong" && kind !== "outputCapTooLarge") return undefined;
    return (toTokens ?? 0) < acceptedTokens ? undefined : this.#learn(model, toTokens);
  }

  /**
   * A request above the window that a refusal named shows that its number was wrong: it is forgotten for good. Tokens as
   * the server reports them, and by estimate.
   */
  answered(
    model: CatalogueModel,
    { reportedTokens, estimatedTokens }: { reportedTokens: number; estimatedTokens: number },
  ): void {
    if (reportedTokens > estimatedTokens * MOST_SKEW) return;
    const name = referenceOf(model);
    this.#answered.set(name, Math.max(reportedTokens, this.#answered.get(name) ?? 0));
    if (reportedTokens > (this.#tokens.get(name) ?? Number.POSITIVE_INFINITY)) this.#tokens.delete(name);
  }

  /**
   * Asks an Ollama once what it runs the model with, when it has answered: before that nobody knows, and what is above
   * its window it cuts off without a word. Undefined for any other server, and where it is what was believed.
   */
  async askOllama(
    model: CatalogueModel,
    apiKey: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<LearnedWindow | undefined> {
    const name = referenceOf(model);
    if (!isOllama(model) || this.#asked.has(name)) return undefined;
    this.#asked.add(name);
    const timeout = AbortSignal.timeout(ASK_TIMEOUT_MS);
    const both = AbortSignal.any([timeout, ...(signal ? [signal] : [])]);
    return this.#learn(model, await loadedWindow({ provider: model, apiKey, signal: both }, model.id));
  }

  #learn(model: CatalogueModel, toTokens: number | undefined): LearnedWindow | undefined {
    if (toTokens === undefined || toTokens < MIN_WINDOW_TOKENS) return undefined;
    if (toTokens < (this.#answered.get(referenceOf(model)) ?? 0)) return undefined;
    const { contextWindow } = this.sized(model);
    if (contextWindow && toTokens >= contextWindow * WORTH_KNOWING) return undefined;
    this.#tokens.set(referenceOf(model), toTokens);
    return { fromTokens: contextWindow || undefined, toTokens };
  }
}
