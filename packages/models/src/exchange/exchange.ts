import { type AssistantMessage, inputTokens, type Usage } from "@bonsai-agent/messages";
import type { sleep } from "@bonsai-agent/messages/host";
import { AnswerBuilder } from "../answer-builder.ts";
import { ANSWER_TOO_LARGE, answerEnd } from "../failure/answer-end.ts";
import { requestFailure } from "../failure/classify.ts";
import type { KeySource } from "../keys/keys.ts";
import { type CatalogueModel, referenceOf } from "../model.ts";
import type {
  IgnoredUsage,
  ModelFailure,
  ModelNotice,
  ModelRequest,
  Repair,
  StreamEvent,
} from "../model-request.ts";
import type { OpenAiConnect, Provider, ProviderCall } from "../provider.ts";
import { attempt, emptyAnswer, RetryBudget, type RetryPolicy, silentOverflow } from "./attempts.ts";
import type { LearnedWindow, LearnedWindows, RefusedImages, RefusedThinking } from "./learned.ts";
import { requestKey, SentRequest } from "./sent-request.ts";

/** An estimate can be a third too high. */
const ESTIMATE_FACTOR = 1.5;

/** The shared parts of a client's requests. */
export interface RequestHost {
  /** Returns the provider of a model. @throws BonsaiError `provider_gone`, `protocol_unknown`; what a loader throws */
  provider: (model: CatalogueModel) => Promise<Provider>;
  /** Makes a provider's clients; undefined for the built-in ones. */
  connect: (provider: string) => OpenAiConnect | undefined;
  windows: LearnedWindows;
  refusedThinking: RefusedThinking;
  refusedImages: RefusedImages;
  /** The items of refused providers' summaries. */
  refusedSummaries: WeakSet<object>;
  keys: KeySource | undefined;
  policy: RetryPolicy;
  bodyless429IsOverflow: boolean;
  now: () => number;
  random: () => number;
  sleep: typeof sleep;
  /** Kinds of repairs, and models with impossible counts. Each is notified once: it recurs with every request. */
  notified: Set<string>;
}

/** One request with all its attempts, and the changes between them. */
export class Exchange {
  readonly #request: ModelRequest;
  readonly #host: RequestHost;
  readonly #retries: RetryBudget;
  #model: CatalogueModel;
  #sent: SentRequest | undefined;
  #hasRenewedKey = false;

  constructor(request: ModelRequest, host: RequestHost) {
    this.#request = request;
    this.#host = host;
    this.#model = host.windows.withLearnedWindow(request.model);
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
        failure = await this.#answerFailure(message);
      } catch (error) {
        failure = this.#failure(error);
      }
      answer.endUsage();
      this.#notifyIgnoredUsage(answer.ignoredUsage);
      if (failure === undefined) {
        this.#noteAccepted(message);
        const { summary } = answer;
        yield { type: "done", message, ...(summary && { summary }) };
        return;
      }
      const final = this.#isAborted ? "aborted" : await this.#remedyFor(failure, message.usage);
      if (final === "again") continue;
      if (final === "aborted") {
        answer.stop("aborted");
        yield { type: "error", message };
        return;
      }
      answer.stop("error");
      if (final.code === ANSWER_TOO_LARGE) answer.keepBeginning();
      message.errorMessage = final.message;
      yield { type: "error", message, failure: final };
      return;
    }
  }

  /** A complete answer can be empty, or the sign of an overflow that the provider reports as a success. */
  async #answerFailure(answer: AssistantMessage): Promise<ModelFailure | undefined> {
    this.#noteAnsweredSize(answer.usage);
    const cutOffTokens = await this.#learnOllamaWindow();
    const overflow = silentOverflow({
      model: this.#model,
      answer,
      // The usage of a scripted model comes from its scenario.
      estimatedTokens: this.#isScripted ? undefined : this.#sent?.inputTokens,
      cutOffTokens,
    });
    // A summary and a title have a fallback, and an extension may want an empty answer.
    return overflow ?? (this.#request.purpose === "turn" ? emptyAnswer(this.#model, answer) : undefined);
  }

  get #isScripted(): boolean {
    return this.#model.api === "scripted";
  }

  get #name(): { provider: string; modelId: string } {
    return { provider: this.#model.provider, modelId: this.#model.id };
  }

  get #isAborted(): boolean {
    return this.#request.signal?.aborted === true;
  }

  async *#attempt(answer: AnswerBuilder): AsyncGenerator<StreamEvent, void, void> {
    const { signal } = this.#request;
    signal?.throwIfAborted();
    const { refusedThinking, refusedImages, refusedSummaries, keys } = this.#host;
    this.#sent ??= new SentRequest({
      request: this.#request,
      model: this.#model,
      apiKey: await requestKey(this.#model, keys, signal),
      without: refusedThinking.of(this.#request),
      refusedImages,
      refusedSummaries,
      onRepairs: (repairs) => this.#notifyRepairs(repairs),
    });
    const sent = this.#sent;
    // The usage in a scenario is never ignored.
    if (!this.#isScripted) answer.expect({ inputTokens: sent.inputTokens, maxOutputTokens: sent.cap.tokens });
    const provider = await this.#host.provider(this.#model);
    const { silenceMs, contentMs } = this.#host.policy;
    yield* attempt({ provider, call: this.#call(sent), answer, signal, silenceMs, contentMs });
  }

  #call(sent: SentRequest): Omit<ProviderCall, "signal" | "onAlive"> {
    const { purpose, summaryKind, systemPrompt, tools, cacheKey, compaction } = this.#request;
    const { onPayload, onResponse } = this.#request;
    return {
      ...{ purpose, summaryKind, systemPrompt, tools, cacheKey, compaction },
      model: withAuthHeader(this.#model, sent.apiKey),
      apiKey: sent.apiKey,
      messages: sent.messages,
      maxOutputTokens: sent.cap.tokens,
      thinking: sent.thinking,
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

  /** Changes the request so that another attempt may succeed. Returns the final failure if it cannot. */
  async #remedyFor(failure: ModelFailure, usage: Usage): Promise<ModelFailure | "again" | "aborted"> {
    try {
      this.#useLearnedWindow(this.#host.windows.learn(this.#model, failure, this.#sent?.acceptedTokens));
      const remedy = await this.#applyRemedy(failure);
      const hasUsage = inputTokens(usage) + usage.output > 0 || usage.isUncounted === true;
      if (remedy === "again" && hasUsage) this.#request.onVoidedUsage?.(usage);
      return remedy;
    } catch (error) {
      return this.#isAborted ? "aborted" : this.#failure(error);
    }
  }

  async #applyRemedy(failure: ModelFailure): Promise<ModelFailure | "again" | "aborted"> {
    if (failure.status === 401) return this.#renewKey(failure);
    if (this.#sent?.dropProviderSummary(failure)) return "again";
    switch (failure.kind) {
      case "outputCapTooLarge":
        return this.#lowerCap(failure);
      case "damagedHistory":
        return this.#sent?.dropThinking() || this.#sent?.omitRefusedImages(failure) ? "again" : failure;
      case "bytesTooLarge":
        return this.#sent?.dropImages() || this.#sent?.omitRefusedImages(failure) ? "again" : failure;
      default:
        return this.#sent?.omitRefusedImages(failure) ? "again" : await this.#retry(failure);
    }
  }

  /** The provider accepted the request: remembers the thinking and the images that it was sent without. */
  #noteAccepted({ rawStopReason }: AssistantMessage): void {
    if (this.#sent?.hasDroppedThinking) this.#host.refusedThinking.add(this.#request);
    this.#notifyOddEnd(rawStopReason);
    this.#noteRefusedSummary();
    if (this.#sent?.omittedImages === undefined) return;
    const { images, reason, line } = this.#sent.omittedImages;
    this.#host.refusedImages.add(this.#model, images, line);
    this.#request.onRefusedImages?.(images, line);
    this.#notify({
      /** The provider refused an image. Bonsai sent the request again without it. */
      type: "image_refused",
      ...this.#name,
      count: images.length,
      reason,
    });
  }

  #noteRefusedSummary(): void {
    const refused = this.#sent?.refusedSummary;
    if (refused === undefined) return;
    this.#host.refusedSummaries.add(refused.summary.items);
    this.#request.onRefusedSummary?.(refused.summary);
    this.#notify({
      /** The provider refused its own summary of a compaction. Bonsai sent the readable one instead, and will from now on. */
      type: "summary_refused",
      ...this.#name,
      reason: refused.reason,
    });
  }

  /** A login may end early: asks for another key once. */
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

  /** Returns the request's size if the window of the Ollama is too small for it. */
  async #learnOllamaWindow(): Promise<number | undefined> {
    const { signal } = this.#request;
    const { apiKey, inputTokens = 0 } = this.#sent ?? {};
    const learned = await this.#host.windows.askOllama(this.#model, apiKey, signal);
    this.#useLearnedWindow(learned);
    const isCutOff = learned !== undefined && inputTokens > learned.toTokens * ESTIMATE_FACTOR;
    return isCutOff ? inputTokens : undefined;
  }

  /** A learned window may be wrong. Call before the answer is compared with it. */
  #noteAnsweredSize(usage: Usage): void {
    this.#host.windows.noteAnsweredSize(this.#model, {
      reportedTokens: inputTokens(usage),
      estimatedTokens: this.#sent?.inputTokens ?? 0,
    });
    this.#model = this.#host.windows.withLearnedWindow(this.#request.model);
  }

  #useLearnedWindow(learned: LearnedWindow | undefined): void {
    if (learned === undefined) return;
    this.#model = this.#host.windows.withLearnedWindow(this.#model);
    this.#notify({
      /** The server reported another context window than the known one. */
      type: "window_learned",
      ...learned,
    });
  }

  /** Without room for an answer, the input is too long. */
  #lowerCap(failure: ModelFailure): ModelFailure | "again" {
    const lowered = this.#sent?.cap.lower(failure);
    if (lowered === undefined)
      return failure.outputLimitTokens === undefined ? { ...failure, kind: "inputTooLong" } : failure;
    this.#notify({
      /** Input and output limit did not fit together. Asks for less output. */
      type: "output_cap_lowered",
      ...lowered,
    });
    return "again";
  }

  async #retry(failure: ModelFailure): Promise<ModelFailure | "again" | "aborted"> {
    const retry = this.#retries.next(failure);
    if (retry === undefined) return this.#retries.finalFailure(failure);
    this.#notify({ /** A request failed and is sent again. */ type: "retry", ...retry, failure });
    await this.#host.sleep(retry.delayMs, this.#request.signal);
    return this.#isAborted ? "aborted" : "again";
  }

  #notifyIgnoredUsage(usage: IgnoredUsage | undefined): void {
    if (usage === undefined || !this.#isFirst(referenceOf(this.#model))) return;
    this.#notify({
      /** A server reported impossible token counts. They count nowhere. */
      type: "usage_ignored",
      ...this.#name,
      ...usage,
    });
  }

  #notifyOddEnd(reason: string | undefined): void {
    // The compaction reports a withheld summary itself.
    if (reason === undefined || this.#request.purpose !== "turn") return;
    const end = answerEnd(reason);
    const isWithheld = end === "withheld";
    // A server with its own word for a normal end sends it with every answer: notify once.
    if (!isWithheld && (end !== "unknown" || !this.#isFirst(`${referenceOf(this.#model)} ${reason}`))) return;
    this.#notify({
      /** The provider ended an answer for an unusual reason, or withheld a part of it. */
      type: "odd_end",
      ...this.#name,
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
