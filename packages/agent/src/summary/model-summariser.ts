import type { Summariser, SummaryAnswer, SummaryRequest } from "@bonsai-agent/compaction";
import {
  type AssistantMessage,
  addUsage,
  byScriptEstimator,
  contextTokens,
  type Message,
  messageText,
  toolCalls,
  type Usage,
} from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  type FinalEvent,
  finalEvent,
  type ModelClient,
  type ModelNotice,
  type ModelRequest,
} from "@bonsai-agent/models";
import type { Session } from "@bonsai-agent/session";
import type { CachedPrefix, WarmRequest } from "./cached-prefix.ts";
import { cheaperWay } from "./cached-prefix-choice.ts";

export interface SummariserForOptions {
  models: ModelClient;
  model: CatalogueModel;
  /** The same for all requests of one session. */
  cacheKey?: string;
  onNotice?: (notice: ModelNotice) => void;
}

/** A model as summariser, for use without an agent: everything is asked for as text. */
export function summariserFor({ model, ...asking }: SummariserForOptions): Summariser {
  const sized = () => asking.models.sized(model);
  return summariserOf(sized, (request) => askAsText({ ...asking, model: sized(), request }));
}

export interface ModelSummariserOptions {
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
    const name = nameOf(model);
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
      return nameOf(model());
    },
    get contextWindow() {
      return model().contextWindow ?? 0;
    },
    get maxOutputTokens() {
      return summariserSizes(model()).maxOutputTokens;
    },
    summarise,
  };
}

/** A model as summariser, for planning: how much it can read and write. */
export function summariserSizes(
  model: CatalogueModel,
): Required<Pick<Summariser, "name" | "contextWindow" | "maxOutputTokens">> {
  return {
    name: nameOf(model),
    contextWindow: model.contextWindow ?? 0,
    maxOutputTokens: Math.min(model.maxOutputTokens || MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS),
  };
}

function nameOf({ provider, id }: CatalogueModel): string {
  return `${provider}/${id}`;
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
  const voided: Usage[] = [];
  const final = await finalEvent(models.stream({ ...request, onVoidedUsage: (usage) => voided.push(usage) }));
  const { message } = final;
  return {
    text: messageText(message),
    stopReason: stopReasonOf(message),
    usage: voided.reduce(addUsage, message.usage),
    ...(message.errorMessage === undefined ? {} : { errorMessage: message.errorMessage }),
    ...(isOverflow(final) ? { overflow: true } : {}),
  };
}

function isOverflow(final: FinalEvent): boolean {
  return final.type === "error" && final.failure?.kind === "inputTooLong";
}

const KNOWN_REASONS = ["stop", "length", "toolUse", "aborted"] as const;

/** A call is a call, whatever the provider says of why it stopped; a reason that nobody knows is no answer. */
function stopReasonOf(message: AssistantMessage): SummaryAnswer["stopReason"] {
  if (toolCalls(message).length > 0) return "toolUse";
  const known = KNOWN_REASONS.find((reason) => reason === message.stopReason);
  return known ?? "error";
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
