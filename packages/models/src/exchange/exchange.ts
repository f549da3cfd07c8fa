import { type AssistantMessage, BonsaiError, promptTokens, type Usage } from "@bonsai-agent/messages";
import { AnswerBuilder } from "../answer-builder.ts";
import { answerEnd } from "../answer-end.ts";
import { requestFailure } from "../failure/classify.ts";
import {
  emptyAnswer,
  type ModelFailure,
  RetryBudget,
  type RetryPolicy,
  silentOverflow,
  TOO_LARGE,
} from "../failure/failure.ts";
import { isReachable, type KeySource } from "../keys/keys.ts";
import type { CatalogueModel } from "../model.ts";
import type { IgnoredUsage, ModelNotice, ModelRequest, StreamEvent } from "../model-request.ts";
import type { OpenAiConnect, Provider, ProviderCall } from "../provider.ts";
import type { RefusedImages } from "../repair/refused-images.ts";
import type { Repair } from "../repair/repair.ts";
import { attempt } from "./attempt.ts";
import { type LearnedWindow, type LearnedWindows, Outgoing, type RefusedThinking } from "./outgoing.ts";

/** An estimate can be a third too high. */
const ESTIMATE_FACTOR = 1.5;

/** What the requests of one client share. */
export interface RequestHost {
  /** Who answers for a model. @throws BonsaiError `provider_gone`, `protocol_unknown`, and what a loader throws. */
  provider: (model: CatalogueModel) => Promise<Provider>;
  /** Who makes the clients for a provider, where the protocol's own client is not to. */
  connect: (provider: string) => OpenAiConnect | undefined;
  windows: LearnedWindows;
  refusedThinking: RefusedThinking;
  refusedImages: RefusedImages;
  keys: KeySource | undefined;
  policy: RetryPolicy;
  bodyless429IsOverflow: boolean;
  now: () => number;
  random: () => number;
  sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Kinds of repairs, and models that count wrong: each is notified once, for it comes again with every request. */
  notified: Set<string>;
}

/** One request, from its first attempt to its last. Owner of what is changed between attempts. */
export class Exchange {
  readonly #request: ModelRequest;
  readonly #host: RequestHost;
  readonly #retries: RetryBudget;
  #model: CatalogueModel;
  #sent: Outgoing | undefined;
  #hasRenewedKey = false;

  constructor(request: ModelRequest, host: RequestHost) {
    this.#request = request;
    this.#host = host;
    this.#model = host.windows.sized(request.model);
    this.#retries = new RetryBudget(host.policy, host.random);
  }

  async *events(): AsyncGenerator<StreamEvent, void, void> {
    for (;;) {
      const answer = new AnswerBuilder(this.#request.model, this.#host.now());
      const { message } = answer;
      yield answer.start();
      let failure: ModelFailure | undefined;
      try {
        yield* this.#attempt(answer);
        this.#takeWindowAsAnswered(message.usage);
        const cutOffTokens = await this.#learnRunning();
        failure =
          silentOverflow({
            model: this.#model,
            answer: message,
            estimatedTokens: this.#estimatedTokens,
            cutOffTokens,
          }) ?? this.#emptyAnswer(message);
      } catch (error) {
        failure = this.#failure(error);
      }
      answer.endUsage();
      this.#notifyIgnoredUsage(answer.ignoredUsage);
      if (failure === undefined) {
        if (this.#sent?.hasDroppedThinking) this.#host.refusedThinking.add(this.#request);
        this.#rememberRefusedImages();
        this.#notifyOddEnd(message.rawStopReason);
        yield { type: "done", message };
        return;
      }
      const final = this.#isAborted ? "aborted" : await this.#remedy(failure, message.usage);
      if (final === "again") continue;
      if (final === "aborted") {
        answer.stop("aborted");
        yield { type: "error", message };
        return;
      }
      answer.stop("error");
      if (final.code === TOO_LARGE) answer.keepBeginning();
      message.errorMessage = final.message;
      yield { type: "error", message, failure: final };
      return;
    }
  }

  /** Undefined for a scripted model: its scenario says what a request used. */
  get #estimatedTokens(): number | undefined {
    return this.#model.api === "scripted" ? undefined : this.#sent?.inputTokens;
  }

  get #isAborted(): boolean {
    return this.#request.signal?.aborted === true;
  }

  async *#attempt(answer: AnswerBuilder): AsyncGenerator<StreamEvent, void, void> {
    const { signal } = this.#request;
    signal?.throwIfAborted();
    this.#sent ??= this.#prepared(await keyOf(this.#model, this.#host.keys, signal));
    const sent = this.#sent;
    // What a scenario says that a request used is what its author wants to see.
    if (this.#model.api !== "scripted")
      answer.expect({ inputTokens: sent.inputTokens, maxOutputTokens: sent.cap.tokens });
    const provider = await this.#host.provider(this.#model);
    const { silenceMs, contentMs } = this.#host.policy;
    yield* attempt({ provider, call: this.#call(sent), answer, signal, silenceMs, contentMs });
  }

  /** Whoever asks for a summary or a title has other ways then; an extension may want an answer that is empty. */
  #emptyAnswer(message: AssistantMessage): ModelFailure | undefined {
    return this.#request.purpose === "turn" ? emptyAnswer(this.#model, message) : undefined;
  }

  #prepared(apiKey: string | undefined): Outgoing {
    return new Outgoing({
      request: this.#request,
      model: this.#model,
      apiKey,
      without: this.#host.refusedThinking.of(this.#request),
      refusedImages: this.#host.refusedImages,
      onRepairs: (repairs) => this.#notifyRepairs(repairs),
    });
  }

  #call(sent: Outgoing): Omit<ProviderCall, "signal" | "onAlive"> {
    const { messages, thinking, cap, apiKey } = sent;
    const { purpose, systemPrompt, tools, cacheKey, onPayload, onResponse } = this.#request;
    return {
      model: withAuthHeader(this.#model, apiKey),
      purpose,
      apiKey,
      systemPrompt,
      tools,
      messages,
      maxOutputTokens: cap.tokens,
      thinking,
      cacheKey,
      connect: this.#host.connect(this.#model.provider),
      onPayload: async (payload) => {
        sent.payload = (await onPayload?.(payload)) ?? payload;
        return sent.payload;
      },
      onResponse: async (response) => onResponse?.(response),
    };
  }

  #failure(error: unknown): ModelFailure {
    const sent = this.#sent;
    return requestFailure({
      error,
      model: this.#model,
      apiKey: sent?.apiKey,
      bodyless429IsOverflow: this.#host.bodyless429IsOverflow,
      request: sent && {
        maxOutputTokens: sent.cap.tokens,
        inputTokens: sent.inputTokens,
        contextTokens: this.#request.contextTokens?.(),
        windowTokens: this.#model.contextWindow,
        hasMedia: sent.hasImages,
      },
    });
  }

  /** Makes the next attempt one that may succeed; else the failure to end with. */
  async #remedy(failure: ModelFailure, usage: Usage): Promise<ModelFailure | "again" | "aborted"> {
    try {
      this.#believe(this.#host.windows.learn(this.#model, failure, this.#sent?.acceptedTokens));
      const remedy = await this.#change(failure);
      const hasUsage = promptTokens(usage) + usage.output > 0 || usage.isUncounted === true;
      if (remedy === "again" && hasUsage) this.#request.onVoidedUsage?.(usage);
      return remedy;
    } catch (error) {
      return this.#isAborted ? "aborted" : this.#failure(error);
    }
  }

  async #change(failure: ModelFailure): Promise<ModelFailure | "again" | "aborted"> {
    if (failure.status === 401) return this.#renewKey(failure);
    switch (failure.kind) {
      case "outputCapTooLarge":
        return this.#lowerCap(failure);
      case "damagedHistory":
        return this.#sent?.repairHarder() || this.#sent?.omitRefusedImages(failure) ? "again" : failure;
      case "bytesTooLarge":
        return this.#sent?.dropImages() || this.#sent?.omitRefusedImages(failure) ? "again" : failure;
      default:
        return this.#sent?.omitRefusedImages(failure) ? "again" : await this.#retry(failure);
    }
  }

  /** Remembers the omitted images: the provider accepted the request without them. */
  #rememberRefusedImages(): void {
    const omitted = this.#sent?.omittedImages;
    if (omitted === undefined) return;
    const { images, reason, line } = omitted;
    const { provider, id: modelId } = this.#model;
    this.#host.refusedImages.add(this.#model, images, line);
    this.#request.onRefusedImages?.(images, line);
    this.#notify({
      /** The provider refused an image. Bonsai sent the request again without it. */
      type: "image_refused",
      provider,
      modelId,
      count: images.length,
      reason,
    });
  }

  /** A login may have ended before its time: once, another key is asked for. */
  async #renewKey(failure: ModelFailure): Promise<ModelFailure | "again"> {
    const refused = this.#sent?.apiKey;
    const { keys } = this.#host;
    if (this.#hasRenewedKey || refused === undefined || keys?.freshKey === undefined) return failure;
    this.#hasRenewedKey = true;
    const key = await keys.freshKey(this.#model, { refused, signal: this.#request.signal });
    if (key === undefined || key === refused) return failure;
    this.#sent!.apiKey = key;
    return "again";
  }

  /** The request's size, where the server turns out to run with a window that cannot have held it. */
  async #learnRunning(): Promise<number | undefined> {
    const { signal } = this.#request;
    const { apiKey, inputTokens = 0 } = this.#sent ?? {};
    const learned = await this.#host.windows.askOllama(this.#model, apiKey, signal);
    this.#believe(learned);
    const isCutOff = learned !== undefined && inputTokens > learned.toTokens * ESTIMATE_FACTOR;
    return isCutOff ? inputTokens : undefined;
  }

  /** Before the answer is judged by the window: a refusal may have told a wrong one. */
  #takeWindowAsAnswered(usage: Usage): void {
    const estimatedTokens = this.#sent?.inputTokens ?? 0;
    this.#host.windows.answered(this.#model, { reportedTokens: promptTokens(usage), estimatedTokens });
    this.#model = this.#host.windows.sized(this.#request.model);
  }

  #believe(learned: LearnedWindow | undefined): void {
    if (learned === undefined) return;
    this.#model = this.#host.windows.sized(this.#model);
    this.#notify({
      /** The server reported another context window than the known one. */
      type: "window_learned",
      ...learned,
    });
  }

  /** Where no room is left for an answer, it is the input that was too long. */
  #lowerCap(failure: ModelFailure): ModelFailure | "again" {
    const lowered = this.#sent?.cap.lower(failure);
    if (lowered === undefined) {
      return failure.outputLimitTokens === undefined ? { ...failure, kind: "inputTooLong" } : failure;
    }
    this.#notify({
      /** Input and output limit did not fit together. Asks for less output. */
      type: "output_cap_lowered",
      ...lowered,
    });
    return "again";
  }

  async #retry(failure: ModelFailure): Promise<ModelFailure | "again" | "aborted"> {
    const retry = this.#retries.next(failure);
    if (retry === undefined) return this.#retries.givenUp(failure);
    this.#notify({ /** A request failed and is sent again. */ type: "retry", ...retry, failure });
    await this.#host.sleep(retry.delayMs, this.#request.signal);
    return this.#isAborted ? "aborted" : "again";
  }

  #notifyIgnoredUsage(usage: IgnoredUsage | undefined): void {
    const { provider, id: modelId } = this.#model;
    if (usage === undefined || !this.#isFirst(`${provider}/${modelId}`)) return;
    this.#notify({
      /** A server reported impossible token counts. They count nowhere. */
      type: "usage_ignored",
      provider,
      modelId,
      ...usage,
    });
  }

  #notifyOddEnd(reason: string | undefined): void {
    // The compaction reports a withheld summary itself.
    const end = reason === undefined || this.#request.purpose !== "turn" ? "done" : answerEnd(reason);
    const { provider, id: modelId } = this.#model;
    const isWithheld = end === "withheld";
    if (reason === undefined || (!isWithheld && end !== "unknown")) return;
    // A server with its own word for a normal end sends it with every answer: notify once.
    if (!isWithheld && !this.#isFirst(`${provider}/${modelId} ${reason}`)) return;
    this.#notify({
      /** The provider ended an answer for an unusual reason, or withheld a part of it. */
      type: "odd_end",
      provider,
      modelId,
      reason,
      isWithheld,
    });
  }

  #notifyRepairs(all: readonly Repair[]): void {
    const repairs = all.filter(({ kind }) => this.#isFirst(kind));
    if (repairs.length > 0)
      this.#notify({
        /** The history had messages that the provider refuses. The request was repaired; the session is unchanged. */
        type: "repair",
        repairs,
      });
  }

  #isFirst(name: string): boolean {
    const { notified } = this.#host;
    return notified.size < notified.add(name).size;
  }

  #notify(notice: ModelNotice): void {
    this.#request.onNotice?.(notice);
  }
}

function withAuthHeader(model: CatalogueModel, apiKey: string | undefined): CatalogueModel {
  if (model.authHeader !== true || apiKey === undefined) return model;
  return { ...model, headers: { ...model.headers, Authorization: `Bearer ${apiKey}` } };
}

/**
 * @throws BonsaiError `key_missing` where a provider wants a key and none is found, `provider_not_set_up` where it lacks
 *   something else; what the key source throws.
 */
async function keyOf(
  model: CatalogueModel,
  keys: KeySource | undefined,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (model.missing !== undefined)
    throw new BonsaiError({
      /** A provider lacks a setting other than its key. The message names it. */
      code: "provider_not_set_up",
      message: model.missing,
      hint: "Then restart bonsai or run /reload.",
    });
  const key = keys?.freshKey === undefined ? keys?.key(model) : await keys.freshKey(model, { signal });
  if (key !== undefined || isReachable(model, undefined)) return key;
  const { apiKeyEnv, provider, login } = model;
  if (apiKeyEnv === undefined)
    throw new BonsaiError({
      code: "key_missing",
      message: `You are not logged in to ${provider}${login === undefined ? "" : ` (${login})`}.`,
      hint: `Run /login ${provider}, or \`bonsai login ${provider}\` in a shell.`,
    });
  throw new BonsaiError({
    code: "key_missing",
    message: `No API key for ${provider}: ${apiKeyEnv} is not set, and no key is stored.`,
    hint: `Store a key with /login or \`bonsai login ${provider}\`, or set ${apiKeyEnv} in the environment.`,
  });
}
