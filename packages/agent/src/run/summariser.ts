import type { Summariser, SummaryAnswer, SummaryRequest } from "@bonsai-agent/compaction";
import { cheaperWay, type ProviderCompaction, prefixFits } from "@bonsai-agent/compaction/host";
import {
  type AssistantMessage,
  addUsage,
  callsIn,
  contextTokens,
  isFreeModel,
  type Message,
  messageText,
  tokenEstimator,
  type Usage,
  usualCacheRules,
} from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  type ModelClient,
  type ModelNotice,
  type ModelRequest,
  referenceOf,
} from "@bonsai-agent/models";
import { isWithheld } from "@bonsai-agent/models/host";
import type { Session } from "@bonsai-agent/session";
import { providerCompaction } from "./provider-compaction.ts";
import { completedAnswer, type TurnBase } from "./turn-request.ts";
import { type WorkerChoice, workersFirst } from "./worker-summary.ts";

/** Options of a model that summarises. */
interface SummariserForOptions {
  models: ModelClient;
  model: CatalogueModel;
  /** The same for all requests of one session. */
  cacheKey?: string | undefined;
  /** Called with the notices of a request. */
  onNotice?: ((notice: ModelNotice) => void) | undefined;
}

/** One summary to request. */
interface Asking extends SummariserForOptions {
  request: SummaryRequest;
}

/** Returns a summariser that works without an agent: it sends every conversation as text. */
export function summariserFor({ model, ...asking }: SummariserForOptions): Summariser {
  const sized = () => asking.models.withLearnedWindow(model);
  const provider = providerCompaction({ models: asking.models, model: sized, onNotice: asking.onNotice });
  return summariserOf(sized, provider, (request) => askAsText({ ...asking, model: sized(), request }));
}

interface ModelSummariserOptions extends Pick<SummariserForOptions, "models" | "onNotice"> {
  /** Its model is used, as of each request. */
  selection: { readonly model: CatalogueModel };
  session: Session;
  promptCache: PromptCache;
  /** The parts of the next turn's request that do not depend on its messages. */
  turnBase?: (() => TurnBase) | undefined;
  /** Messages of the context as a turn sends them. */
  seen?: ((messages: readonly Message[]) => readonly Message[]) | undefined;
  /** Called once with the reason, in a sentence, if the cached request should be continued and cannot. */
  onNotCached?: ((reason: string) => void) | undefined;
  /** Lets workers make the summaries of a shared session. Default: this host makes them. */
  workers?: WorkerChoice | undefined;
  now: () => number;
}

/** Returns the session's own model as summariser: it continues the cached prefix if that costs less. */
export function modelSummariser(options: ModelSummariserOptions): Summariser {
  const { models, selection, session, turnBase, seen, onNotice, workers } = options;
  const model = () => selection.model;
  const here = summariseHere(options);
  return summariserOf(
    model,
    providerCompaction({ models, model, base: turnBase, seen, onNotice }),
    workers === undefined ? here : workersFirst(here, { session, model, ...workers }),
  );
}

function summariseHere(options: ModelSummariserOptions): Summariser["summarise"] {
  const { models, selection, session, promptCache, onNotCached, onNotice, now } = options;
  /** Models that called a tool or wrote no summary after their cached prefix. */
  const modelsFailedWarm = new Set<string>();
  let isNotCachedReported = false;
  return async (request) => {
    const { model } = selection;
    const asking = { models, model, request, cacheKey: session.id, onNotice };
    const name = referenceOf(model);
    const warm = promptCache.warmRequest({ session, model, atMs: now() });
    const whyText = modelsFailedWarm.has(name) ? FAILED_WARM : reasonForText(warm, asking);
    if (warm === undefined || whyText !== undefined) {
      if (request.way === "cached" && whyText !== undefined && !isNotCachedReported) {
        isNotCachedReported = true;
        onNotCached?.(whyText);
      }
      return askAsText(asking);
    }
    const answer = await askFromPrefix(warm, asking);
    if (isUsableSummary(answer)) return answer;
    modelsFailedWarm.add(name);
    const second = await askAsText(asking);
    return { ...second, usage: addUsage(answer.usage, second.usage) };
  };
}

/** Maximum output of a request. */
const MAX_OUTPUT_TOKENS = 32_000;

const FAILED_WARM = "The model called a tool or wrote no summary when it was asked that way.";

function summariserOf(
  model: () => CatalogueModel,
  provider: ProviderCompaction,
  summarise: Summariser["summarise"],
): Summariser {
  return {
    provider,
    get name() {
      return referenceOf(model());
    },
    get contextWindow() {
      return model().contextWindow ?? 0;
    },
    get maxOutputTokens() {
      return Math.min(model().maxOutputTokens || MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS);
    },
    get isFree() {
      return isFreeModel(model());
    },
    summarise,
  };
}

/** The answer of a model, with its usage. */
type ModelSummary = SummaryAnswer & { usage: Usage };

function askAsText({ models, model, request, cacheKey, onNotice }: Asking): Promise<ModelSummary> {
  const { kind: summaryKind, prompt, maxSummaryTokens, signal } = request;
  return answerTo(models, {
    model,
    purpose: "summary",
    summaryKind,
    systemPrompt: prompt.system,
    tools: [],
    messages: [{ role: "user", content: prompt.user, timestamp: 0 }],
    maxOutputTokens: maxSummaryTokens,
    cacheKey,
    signal,
    onNotice,
  });
}

/** Margin for the error of an estimate. */
const SAFETY = 1.1;

/** Why a request sends the conversation as text, in a sentence; undefined if it continues the cached prefix. */
function reasonForText(warm: WarmRequest | undefined, { model, request }: Asking): string | undefined {
  if (request.way === "text") return "The settings ask for text.";
  if (warm === undefined) return "No request of this conversation is in the provider's cache.";
  const { request: sent, answer, later } = warm;
  const { instruction, prompt, maxSummaryTokens } = request;
  if (instruction === undefined) return "The context cannot be sent again as it is.";
  // For the same prefix, thinking would have to stay on. It costs more than the prefix saves.
  if ((sent.thinking ?? "off") !== "off") return "The model thinks, and would think before the summary too.";
  const { cacheRead, cacheWrite } = answer.usage;
  const cachedTokens = cacheRead + cacheWrite;
  const estimated = later
    .slice(1)
    .reduce((sum, message) => sum + tokenEstimator.message(message), tokenEstimator.text(instruction));
  const newTokens = contextTokens(answer.usage) - cachedTokens + Math.ceil(estimated * SAFETY);
  const { contextWindow: windowTokens, usdPerMillionTokens: prices, cacheRules } = model;
  const sizes = { windowTokens, cachedTokens, newTokens, maxSummaryTokens };
  if (request.way === "cached")
    return !windowTokens || prefixFits(sizes)
      ? undefined
      : "The conversation and a summary do not fit the model's window.";
  const serialisedTokens = tokenEstimator.text(prompt.system) + tokenEstimator.text(prompt.user);
  const ways = { ...sizes, serialisedTokens, prices, isAlwaysWritten: cacheRules?.isAutomatic };
  return cheaperWay(ways) === "cachedPrefix" ? undefined : "Text costs less.";
}

/** Sends the last turn's request byte for byte, the later messages and the instruction. */
function askFromPrefix({ request: sent, later }: WarmRequest, asking: Asking): Promise<ModelSummary> {
  const { models, model, request, onNotice } = asking;
  const { kind: summaryKind, instruction = "", maxSummaryTokens, signal } = request;
  return answerTo(models, {
    ...sent,
    model,
    purpose: "summary",
    summaryKind,
    messages: [...sent.messages, ...later, { role: "user", content: instruction, timestamp: 0 }],
    maxOutputTokens: maxSummaryTokens,
    signal,
    onNotice,
    onResponse: undefined,
  });
}

async function answerTo(models: ModelClient, request: ModelRequest): Promise<ModelSummary> {
  const { final, usage } = await completedAnswer(models, request);
  const { message } = final;
  const withheld = `The provider withheld a part of the summary (${message.rawStopReason}).`;
  const errorMessage = message.errorMessage ?? (isWithheld(message) ? withheld : undefined);
  return {
    text: messageText(message),
    stopReason: stopReasonOf(message),
    usage,
    ...(errorMessage !== undefined && { errorMessage }),
    ...(final.type === "error" && final.failure?.kind === "inputTooLong" && { overflow: true }),
  };
}

/** An answer with a call ended for it, whatever the stop reason says. An unknown reason is an error. */
function stopReasonOf(message: AssistantMessage): SummaryAnswer["stopReason"] {
  if (callsIn(message).length > 0) return "toolUse";
  if (isWithheld(message)) return "error";
  const known = (["stop", "length", "toolUse", "aborted"] as const).find(
    (reason) => reason === message.stopReason,
  );
  return known ?? "error";
}

/** False if the same question as text may get a better answer. */
function isUsableSummary({ stopReason, text, overflow }: SummaryAnswer): boolean {
  if (stopReason === "aborted") return true;
  if (stopReason === "error") return !overflow;
  return stopReason === "stop" && /^#{1,6}\s/m.test(text);
}

/** A turn request with a good answer. */
export interface AnsweredRequest {
  /** As sent. */
  request: ModelRequest;
  answer: AssistantMessage;
  atMs: number;
}

/** A request whose prefix is in the provider's cache. */
interface WarmRequest extends AnsweredRequest {
  /** The messages of the context after those of the request, the answer first. */
  later: readonly Message[];
}

/**
 * The latest turn request with a good answer: its prefix is in the provider's cache.
 *
 * Invariant: a warm request continues the messages exactly as sent.
 */
export class PromptCache {
  #latest: AnsweredRequest | undefined;

  get latest(): AnsweredRequest | undefined {
    return this.#latest;
  }

  /** Called after each good answer of a turn, with the request as the model client got it. */
  remember(latest: AnsweredRequest): void {
    this.#latest = latest;
  }

  /** Returns the latest request if its model, its time and the context show that its prefix is still in the cache. */
  warmRequest(now: { session: Session; model: CatalogueModel; atMs: number }): WarmRequest | undefined {
    const latest = this.#latest;
    if (latest === undefined) return undefined;
    const { request, answer, atMs } = latest;
    const { provider, id } = request.model;
    const { cacheRead, cacheWrite } = answer.usage;
    if (provider !== now.model.provider || id !== now.model.id) return undefined;
    const { keptMs } = now.model.cacheRules ?? usualCacheRules;
    if (now.atMs - atMs > keptMs || cacheRead + cacheWrite === 0) return undefined;
    const later = laterMessages(request.messages, now.session);
    return later && { ...latest, later };
  }
}

/** Returns undefined unless the context begins with the sent messages, unchanged, and continues with the answer. */
function laterMessages(sent: readonly Message[], session: Session): Message[] | undefined {
  const { items } = session.projection();
  if (items.length <= sent.length) return undefined;
  if (sent.some((message, at) => !isAsSent(message, items[at]?.message))) return undefined;
  const later = items.slice(sent.length).map(({ message }) => message);
  return later[0]?.role === "assistant" ? later : undefined;
}

/** A request has a copy of a summary, see `withHints`. */
function isAsSent(sent: Message, shown: Message | undefined): boolean {
  if (sent === shown) return true;
  if (sent.role !== "compactionSummary" || shown?.role !== "compactionSummary") return false;
  const isSameText = sent.summary === shown.summary && sent.timestamp === shown.timestamp;
  return isSameText && sent.provider?.items === shown.provider?.items;
}
