import type { Summariser, SummaryAnswer, SummaryRequest } from "@bonsai-agent/compaction";
import {
  type AssistantMessage,
  addUsage,
  byScriptEstimator,
  contextTokens,
  isFreeModel,
  type Message,
  type ModelPrices,
  messageText,
  toolCalls,
  type Usage,
  usualCacheRules,
} from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  type FinalEvent,
  finalEvent,
  isWithheld,
  type ModelClient,
  type ModelNotice,
  type ModelRequest,
  referenceOf,
} from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";

/** A model as summariser. */
export interface SummariserForOptions {
  /** Who asks it. */
  models: ModelClient;
  /** Who summarises. */
  model: CatalogueModel;
  /** The same for all requests of one session. */
  cacheKey?: string;
  /** Called with what happens on the way of a request. */
  onNotice?: (notice: ModelNotice) => void;
}

/** A model as summariser, for use without an agent: everything is asked for as text. */
export function summariserFor({ model, ...asking }: SummariserForOptions): Summariser {
  const sized = () => asking.models.sized(model);
  return summariserOf(sized, (request) => askAsText({ ...asking, model: sized(), request }));
}

interface ModelSummariserOptions {
  models: ModelClient;
  /** Whose model is asked, as of each request. */
  selection: { readonly model: CatalogueModel };
  session: Session;
  /** What is known of the provider's cache. */
  prefix: CachedPrefix;
  onNotice?: (notice: ModelNotice) => void;
  now?: () => number;
}

/** The session's own model as summariser: it goes on from the cached prefix where that costs less. */
export function modelSummariser(options: ModelSummariserOptions): Summariser {
  const { models, selection, session, prefix, onNotice, now = Date.now } = options;
  const sized = () => models.sized(selection.model);
  /** Models that called a tool, or said nothing of use, when they were asked from their cached prefix. */
  const unfit = new Set<string>();
  return summariserOf(sized, async (request) => {
    const model = sized();
    const asking = { models, model, request, cacheKey: session.id, onNotice };
    const name = referenceOf(model);
    const warm = unfit.has(name) ? undefined : prefix.warm({ session, model, atMs: now() });
    if (warm === undefined || !isCheaper(warm, asking)) return askAsText(asking);
    const answer = await askFromPrefix(warm, asking);
    if (isSettled(answer)) return answer;
    unfit.add(name);
    const second = await askAsText(asking);
    return { ...second, ...usageOfBoth(answer, second) };
  });
}

/** One summary under way. */
interface Asking {
  models: ModelClient;
  model: CatalogueModel;
  request: SummaryRequest;
  cacheKey?: string | undefined;
  onNotice?: ((notice: ModelNotice) => void) | undefined;
}

/** The longest answer that any request asks for. */
const MAX_OUTPUT_TOKENS = 32_000;

function summariserOf(
  model: () => CatalogueModel,
  summarise: (request: SummaryRequest) => Promise<SummaryAnswer>,
): Summariser {
  return {
    get name() {
      return referenceOf(model());
    },
    get contextWindow() {
      return model().contextWindow ?? 0;
    },
    get maxOutputTokens() {
      return summariserSizes(model()).maxOutputTokens;
    },
    get isFree() {
      return isFreeModel(model());
    },
    summarise,
  };
}

/** A model as summariser, for planning: how much it can read and write. */
export function summariserSizes(
  model: CatalogueModel,
): Required<Pick<Summariser, "name" | "contextWindow" | "maxOutputTokens">> {
  return {
    name: referenceOf(model),
    contextWindow: model.contextWindow ?? 0,
    maxOutputTokens: Math.min(model.maxOutputTokens || MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS),
  };
}

function askAsText({ models, model, request, cacheKey, onNotice }: Asking): Promise<SummaryAnswer> {
  const { prompt, maxSummaryTokens, signal } = request;
  return answerTo(models, {
    model,
    purpose: "summary",
    systemPrompt: prompt.system,
    tools: [],
    messages: [{ role: "user", content: prompt.user, timestamp: 0 }],
    maxOutputTokens: maxSummaryTokens,
    cacheKey,
    signal,
    onNotice,
  });
}

/** An estimate may err by so much. */
const SAFETY = 1.1;

function isCheaper({ request: sent, answer, later }: WarmRequest, { model, request }: Asking): boolean {
  const { instruction, prompt, maxSummaryTokens } = request;
  // Thinking would have to stay on for the prefix to be the same, and costs more than the prefix saves.
  if (instruction === undefined || (sent.thinking ?? "off") !== "off") return false;
  const { cacheRead, cacheWrite } = answer.usage;
  const cachedTokens = cacheRead + cacheWrite;
  const estimated = byScriptEstimator.text(instruction) + messageTokens(later.slice(1));
  const text = byScriptEstimator.text(prompt.system) + byScriptEstimator.text(prompt.user);
  const way = cheaperWay({
    prices: model.usdPerMillionTokens,
    windowTokens: model.contextWindow,
    cachedTokens,
    newTokens: contextTokens(answer.usage) - cachedTokens + Math.ceil(estimated * SAFETY),
    serialisedTokens: text,
    maxSummaryTokens,
  });
  return way === "cachedPrefix";
}

function messageTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + byScriptEstimator.message(message), 0);
}

/** The last turn's request byte for byte, what came after it, and the instruction. */
function askFromPrefix({ request: sent, later }: WarmRequest, asking: Asking): Promise<SummaryAnswer> {
  const { models, model, request, onNotice } = asking;
  const { instruction = "", maxSummaryTokens, signal } = request;
  return answerTo(models, {
    ...sent,
    model,
    purpose: "summary",
    messages: [...sent.messages, ...later, { role: "user", content: instruction, timestamp: 0 }],
    maxOutputTokens: maxSummaryTokens,
    signal,
    onNotice,
    onResponse: undefined,
  });
}

async function answerTo(models: ModelClient, request: ModelRequest): Promise<SummaryAnswer> {
  const { final, usage } = await askOnce(models, request);
  const { message } = final;
  return {
    text: messageText(message),
    stopReason: stopReasonOf(message),
    usage,
    ...errorOf(message),
    ...(isOverflow(final) ? { overflow: true } : {}),
  };
}

/** The end of a stream, with what all of its attempts used. */
export async function askOnce(
  models: ModelClient,
  request: ModelRequest,
): Promise<{ final: FinalEvent; usage: Usage }> {
  const voided: Usage[] = [];
  const final = await finalEvent(models.stream({ ...request, onVoidedUsage: (usage) => voided.push(usage) }));
  return { final, usage: voided.reduce(addUsage, final.message.usage) };
}

function isOverflow(final: FinalEvent): boolean {
  return final.type === "error" && final.failure?.kind === "inputTooLong";
}

const KNOWN_REASONS = ["stop", "length", "toolUse", "aborted"] as const;

/** A call is a call, whatever the stop reason; a reason that nobody knows is no answer. */
function stopReasonOf(message: AssistantMessage): SummaryAnswer["stopReason"] {
  if (toolCalls(message).length > 0) return "toolUse";
  if (isWithheld(message)) return "error";
  const known = KNOWN_REASONS.find((reason) => reason === message.stopReason);
  return known ?? "error";
}

function errorOf(message: AssistantMessage): Pick<SummaryAnswer, "errorMessage"> {
  const { errorMessage, rawStopReason } = message;
  if (errorMessage !== undefined) return { errorMessage };
  if (!isWithheld(message)) return {};
  return { errorMessage: `The provider withheld a part of the summary (${rawStopReason}).` };
}

/** False where the same question as text may get a better answer. */
function isSettled({ stopReason, text, overflow }: SummaryAnswer): boolean {
  if (stopReason === "aborted") return true;
  if (stopReason === "error") return !overflow;
  return stopReason === "stop" && /^#{1,6}\s/m.test(text);
}

function usageOfBoth(first: SummaryAnswer, second: SummaryAnswer): Pick<SummaryAnswer, "usage"> {
  if (first.usage === undefined) return second.usage === undefined ? {} : { usage: second.usage };
  return { usage: second.usage === undefined ? first.usage : addUsage(first.usage, second.usage) };
}

/** A request whose beginning the provider has in its cache. */
interface WarmRequest {
  /** As it was sent. */
  request: ModelRequest;
  answer: AssistantMessage;
  /** What the context holds beyond the request's messages, the answer first. */
  later: readonly Message[];
}

/**
 * Owner of the latest turn request that was answered well: what the provider's cache holds. Invariant: a warm request
 * goes on with the very messages that were sent.
 */
export class CachedPrefix {
  #latest: { request: ModelRequest; answer: AssistantMessage; atMs: number } | undefined;

  /** To be called after each good answer of a turn, with the request as it was given to the model client. */
  answered(latest: { request: ModelRequest; answer: AssistantMessage; atMs: number }): void {
    this.#latest = latest;
  }

  /**
   * The latest request, where its prefix is still in the provider's cache: the same model, the last good answer no
   * older than its cache rules say and with cache reads or writes, and the context has only grown since.
   */
  warm(now: { session: Session; model: CatalogueModel; atMs: number }): WarmRequest | undefined {
    const latest = this.#latest;
    if (latest === undefined) return undefined;
    const { request, answer, atMs } = latest;
    const { provider, id } = request.model;
    const { cacheRead, cacheWrite } = answer.usage;
    if (provider !== now.model.provider || id !== now.model.id) return undefined;
    const { keptMs } = now.model.cacheRules ?? usualCacheRules;
    if (now.atMs - atMs > keptMs || cacheRead + cacheWrite === 0) return undefined;
    const later = laterMessages(request.messages, now.session);
    return later === undefined ? undefined : { request, answer, later };
  }
}

/** Undefined unless the context begins with the messages as they were sent, unchanged, and goes on with the answer. */
function laterMessages(sent: readonly Message[], session: Session): Message[] | undefined {
  const { items } = session.projection();
  if (items.length <= sent.length) return undefined;
  if (sent.some((message, at) => items[at]?.message !== message)) return undefined;
  const later = items.slice(sent.length).map(({ message }) => message);
  return later[0]?.role === "assistant" ? later : undefined;
}

/** What asking for a summary would take, either way. The answer costs the same. */
export interface SummaryWays {
  /** US dollars per million tokens. */
  prices: ModelPrices | undefined;
  /** Undefined or 0 where unknown. */
  windowTokens: number | undefined;
  /** Of the cached prefix: what the provider has of it. */
  cachedTokens: number;
  /** What a request that goes on from the prefix would hold beyond it. */
  newTokens: number;
  /** The request with the conversation as text. */
  serialisedTokens: number;
  /** The cap of the answer. */
  maxSummaryTokens: number;
}

/**
 * The way that costs less; as text where that is not certain: without prices, with a price of nothing for what is read
 * from a cache, in a window that is unknown or too small.
 */
export function cheaperWay(ways: SummaryWays): "cachedPrefix" | "serialised" {
  const { prices, windowTokens, cachedTokens, newTokens, serialisedTokens, maxSummaryTokens } = ways;
  if (prices === undefined || prices.cacheRead <= 0 || cachedTokens <= 0) return "serialised";
  if (!windowTokens || cachedTokens + newTokens + maxSummaryTokens > windowTokens) return "serialised";
  // What is new may be written to the cache, which costs more than reading it.
  const newPrice = Math.max(prices.input, prices.cacheWrite);
  const prefixCost = cachedTokens * prices.cacheRead + newTokens * newPrice;
  return prefixCost < serialisedTokens * prices.input ? "cachedPrefix" : "serialised";
}
