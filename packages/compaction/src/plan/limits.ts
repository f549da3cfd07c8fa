import { type Model, tokenEstimator } from "@bonsai-agent/messages";
import { UNSEEN_TOKENS } from "@bonsai-agent/messages/host";
import type { CompactionReason } from "../details.ts";
import type { CompactionSettings } from "../settings.ts";
import { type ContextReading, MAX_COUNT_ERROR, MAX_ESTIMATE_ERROR } from "./context.ts";
import { type EconomicLimit, type EconomicLimitOptions, economicLimit } from "./economy.ts";
import type { ContextSize } from "./view.ts";

/** The model's sizes, its prices for the economy, and its own settings. */
export type ModelSizes = Partial<Omit<Model, "name">> & {
  /** The window before a refusal named a smaller one. */
  declaredWindow?: number | undefined;
};

/** The settings with those of the model: `settings.models` override `models.json`, which overrides the settings of all models. */
export function settingsForModel(
  settings: CompactionSettings,
  { provider, id, compaction }: ModelSizes,
): CompactionSettings {
  const name = `${provider}/${id}`;
  const layers = Object.entries(settings.models).flatMap(([pattern, own]) =>
    isMatch(pattern, name) ? [own] : [],
  );
  const own = { ...settings };
  for (const { threshold, economy, keepRecentTokens } of [compaction ?? {}, ...layers]) {
    own.threshold = Object.assign({}, own.threshold, threshold);
    own.economy = economy ?? own.economy;
    own.keepRecentTokens = keepRecentTokens ?? own.keepRecentTokens;
  }
  return own;
}

function isMatch(pattern: string, name: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(name);
}

/** Sizes in tokens, scaled to the model's window. */
export interface Budgets {
  /** Undefined for an unknown window. */
  windowTokens: number | undefined;
  reserveTokens: number;
  keepTokens: number;
  /** Tokens reserved for the longest answer. */
  outputTokens: number;
}

const RESERVE = { minimumTokens: 2_048, windowShare: 0.25 };
const KEEP = { minimumTokens: 4_096, windowShare: 0.35 };
/** A manual compaction under `manualKeep: "quarter"` keeps a quarter of the budget within these bounds. */
const MANUAL_QUARTER = { minimumTokens: 2_048, maximumTokens: 8_192 };
/** Default output limit for models that declare none. */
const DEFAULT_OUTPUT_TOKENS = 32_000;

/**
 * reserve = min(setting, max(2,048, 25% of the window)), keep = min(setting, max(4,096, 35%)) and at most window -
 * reserve. With `scaleBudgets: false` or an unknown window, the settings count unchanged. An economy set to a number
 * scales the kept tokens like a window of that size; otherwise they would fill it.
 * @param options.reason default "threshold"; "manual" applies `manualKeep`
 */
export function budgetsFor(options: {
  settings: CompactionSettings;
  model: ModelSizes;
  reason?: CompactionReason;
}): Budgets {
  const { model, reason } = options;
  const settings = settingsForModel(options.settings, model);
  const windowTokens = model.contextWindow || undefined;
  const reserveTokens = scaled(settings.threshold.reserveTokens, RESERVE, settings, windowTokens);
  const keep = keptOf(settings, scaled(settings.keepRecentTokens, KEEP, settings, windowTokens));
  const limit = windowTokens === undefined || !settings.scaleBudgets ? keep : windowTokens - reserveTokens;
  const keepTokens = Math.max(0, Math.min(keep, limit));
  return {
    windowTokens,
    reserveTokens,
    keepTokens: reason === "manual" ? manualKeep(keepTokens, settings) : keepTokens,
    outputTokens: outputTokens(model.maxOutputTokens, windowTokens),
  };
}

/** Share of the kept tokens that one command of the user may take: people list and log whole trees. */
const COMMAND_SHARE = 0.25;
const MIN_COMMAND_TOKENS = 200;

/** Maximum tokens of one user command and its output in the kept part. */
export function commandShareTokens(keepTokens: number): number {
  return Math.max(MIN_COMMAND_TOKENS, Math.floor(keepTokens * COMMAND_SHARE));
}

function scaled(
  setting: number,
  scale: { minimumTokens: number; windowShare: number },
  settings: CompactionSettings,
  windowTokens: number | undefined,
): number {
  if (windowTokens === undefined || !settings.scaleBudgets) return setting;
  return Math.min(setting, Math.max(scale.minimumTokens, Math.floor(windowTokens * scale.windowShare)));
}

function keptOf({ economy }: CompactionSettings, keepTokens: number): number {
  if (typeof economy !== "number") return keepTokens;
  return Math.min(keepTokens, Math.max(KEEP.minimumTokens, Math.floor(economy * KEEP.windowShare)));
}

function manualKeep(keepTokens: number, settings: CompactionSettings): number {
  if (settings.manualKeep === "nothing") return 0;
  if (settings.manualKeep === "same") return keepTokens;
  const quarter = Math.floor(keepTokens / 4);
  return Math.min(keepTokens, MANUAL_QUARTER.maximumTokens, Math.max(MANUAL_QUARTER.minimumTokens, quarter));
}

function outputTokens(modelLimit: number | undefined, windowTokens: number | undefined): number {
  const limit = Math.min(modelLimit || DEFAULT_OUTPUT_TOKENS, DEFAULT_OUTPUT_TOKENS);
  return windowTokens === undefined ? limit : Math.min(limit, Math.floor(windowTokens / 2));
}

type Rule = CompactionSettings["threshold"]["rule"];

/** Maximum tokens of a context without compaction, by rule. */
const limits: Record<
  Rule,
  (
    budgets: Budgets & { windowTokens: number },
    threshold: Pick<CompactionSettings["threshold"], "percent" | "sizeTokens">,
  ) => number
> = {
  reserve: ({ windowTokens, reserveTokens }) => windowTokens - reserveTokens,
  percent: ({ windowTokens }, { percent }) => Math.floor((windowTokens * percent) / 100),
  size: ({ windowTokens, reserveTokens }, { sizeTokens }) =>
    Math.min(sizeTokens, windowTokens - reserveTokens),
  outputLimit: ({ windowTokens, outputTokens }) => windowTokens - outputTokens,
  reservePlusKeep: ({ windowTokens, reserveTokens, keepTokens }) => windowTokens - reserveTokens - keepTokens,
  // The rule says "at or above", so the largest context that passes is one token less.
  effectiveWindow: ({ windowTokens, outputTokens, reserveTokens }) =>
    windowTokens - outputTokens - reserveTokens - 1,
};

/** Maximum tokens of the context; one more needs a compaction. Undefined for an unknown window. */
export function thresholdTokens(settings: CompactionSettings, budgets: Budgets): number | undefined {
  const { windowTokens } = budgets;
  if (windowTokens === undefined) return undefined;
  const { threshold } = settings;
  return Math.max(0, limits[threshold.rule]({ ...budgets, windowTokens }, threshold));
}

/**
 * A request is not sent if its estimate is this many times the window. Estimates are up to a tenth too high on paths and
 * values, and a server that cuts silently would drop the start of the request.
 */
const SENDABLE_FACTOR = 1.1;

/** Maximum tokens of a request that is sent; undefined for an unknown window. */
export function sendableTokens(windowTokens: number | undefined): number | undefined {
  return windowTokens ? Math.floor(windowTokens * SENDABLE_FACTOR) : undefined;
}

/** A provider's refusal of a request as too long, with the numbers that it reported. */
export interface Refusal {
  /** The provider's count of the request. Absent if it gave none. */
  inputTokens?: number | undefined;
}

/** No model that can work with tools has a smaller window. */
const MIN_WINDOW_TOKENS = 4_000;

/** Removes a count that usage and estimates rule out: servers also name swapped, capped and invented numbers. */
function believedRefusal({ inputTokens }: Refusal, reading: ContextReading): Refusal {
  const { least, most } = countBounds(reading);
  const isBelieved = inputTokens !== undefined && inputTokens >= least && inputTokens <= most;
  return isBelieved ? { inputTokens } : {};
}

function countBounds(reading: ContextReading): { least: number; most: number } {
  const { source, tokens, trailingTokens, usageIndex = -1 } = reading;
  const least = tokens / MAX_ESTIMATE_ERROR;
  // Learned ratios do not raise the bound: two wrong counts could otherwise raise each other.
  const estimated = estimatedTokens(reading, usageIndex + 1) * MAX_ESTIMATE_ERROR;
  if (source === "estimate") return { least, most: Math.max(tokens, estimated + UNSEEN_TOKENS) };
  return { least, most: Math.max(tokens, (tokens - trailingTokens) * MAX_COUNT_ERROR + estimated) };
}

/** Estimates by script, regardless of the estimator in the settings. */
function estimatedTokens({ projection: { items } }: ContextReading, from: number): number {
  return items.slice(from).reduce((sum, { message }) => sum + tokenEstimator.message(message), 0);
}

/**
 * The size of a refused context. A believable count above the window decides. A size by usage stays: then the window is
 * smaller than believed. Otherwise it is the largest estimate, and above the window.
 */
function refusedTokens({ inputTokens }: Refusal, reading: ContextReading, windowTokens = 0): number {
  const { tokens, source } = reading;
  if (inputTokens !== undefined && inputTokens > windowTokens) return Math.max(tokens, inputTokens);
  if (source === "usage") return tokens;
  return Math.max(tokens, inputTokens ?? estimatedTokens(reading, 0), windowTokens + 1);
}

/** Minimum limit, as a share of the window: some rules leave less, which is no measure of the tokens that fit. */
const MIN_SHARE = 0.5;
/** Share of the limit if neither count nor usage explains the refusal: the window may be smaller than believed. */
const UNEXPLAINED_SHARE = 0.5;
const UNKNOWN_WINDOW_SHARE = 0.25;
/** Share of the latest answered request that leaves room for the next answer. */
const ACCEPTED_SHARE = 0.8;

/** Maximum tokens of the one retry: the threshold's limit, or less if the true limit is unknown. */
function limitAfterRefusal(of: {
  settings: CompactionSettings;
  budgets: Budgets;
  /** False for a window that only the refusal showed. */
  isKnown: boolean;
  refusal: Refusal;
  reading: ContextReading;
}): number | undefined {
  const { budgets, isKnown, refusal, reading } = of;
  const { windowTokens } = budgets;
  const threshold = thresholdTokens(of.settings, budgets);
  if (threshold === undefined || windowTokens === undefined) return undefined;
  const limit = Math.max(threshold, Math.floor(windowTokens * MIN_SHARE));
  // A count within the window explains nothing: some servers stop counting at a full window.
  if ((refusal.inputTokens ?? 0) > windowTokens) return limit;
  if (reading.source === "estimate") {
    const share = isKnown ? UNEXPLAINED_SHARE : UNKNOWN_WINDOW_SHARE;
    return Math.floor(limit * share);
  }
  const acceptedTokens = reading.tokens - reading.trailingTokens;
  if (!isKnown)
    return Math.min(Math.floor(limit * UNKNOWN_WINDOW_SHARE), Math.max(acceptedTokens, MIN_WINDOW_TOKENS));
  if (reading.tokens > windowTokens) return limit;
  // The server accepted the latest answered request, so that size is known to fit.
  const knownTokens = Math.max(acceptedTokens * ACCEPTED_SHARE, reading.tokens * UNEXPLAINED_SHARE);
  return Math.min(limit, Math.floor(knownTokens));
}

/** Share of a window that a request may take: the answer needs the rest, and estimates err. */
const USABLE_SHARE = 0.8;

/** Sizes that a compaction aims at, in estimated tokens of the messages. */
export interface Goals {
  /** Maximum size of the context afterwards. Undefined if the only goal is a summary. */
  readonly goalTokens: number | undefined;
  /** As `goalTokens`, but without the economy: recent content is lost only to reach this size. */
  readonly thresholdTokens: number | undefined;
  /** Share of the window that is safe to fill. Undefined for an unknown window. */
  readonly windowShareTokens: number | undefined;
  /** Maximum size of a context that is sent. Undefined for an unknown window. */
  readonly sendableTokens: number | undefined;
}

export function goalsFor(
  size: ContextSize,
  of: Pick<Budgets, "windowTokens"> & Record<"compactAboveTokens" | "thresholdTokens", number | undefined>,
): Goals {
  const { windowTokens, compactAboveTokens, thresholdTokens } = of;
  const within = (tokens: number | undefined) =>
    tokens === undefined ? undefined : size.estimateWithin(tokens);
  return {
    goalTokens: within(compactAboveTokens),
    thresholdTokens: within(thresholdTokens),
    windowShareTokens: within(windowTokens && Math.floor(windowTokens * USABLE_SHARE)),
    sendableTokens: within(sendableTokens(windowTokens)),
  };
}

/** The limit of a context, by the threshold's rule and the economy. */
export interface ContextLimit extends EconomicLimit {
  /** By the threshold's rule. */
  thresholdTokens: number;
}

/** The limit for the context as it is; undefined for an unknown window. */
export function contextLimit(
  options: Omit<EconomicLimitOptions, "thresholdTokens" | "budgets" | "model"> & {
    budgets: Budgets;
    model: ModelSizes;
  },
): ContextLimit | undefined {
  const { budgets, model } = options;
  const settings = settingsForModel(options.settings, model);
  const tokens = thresholdTokens(settings, budgets);
  if (tokens === undefined) return undefined;
  if (settings.economy === "off")
    return { thresholdTokens: tokens, compactAboveTokens: tokens, isExpired: false };
  return { thresholdTokens: tokens, ...economicLimit({ ...options, settings, thresholdTokens: tokens }) };
}

/** The size of the context and its limits. The controller and its run share one. */
export interface Decision extends Partial<Pick<ContextLimit, "isExpired">> {
  readonly reading: ContextReading;
  /** Scaled to the model's window; after a refusal, to the window that the refusal showed. */
  readonly budgets: Budgets;
  /** One token more needs a compaction. Undefined for an unknown window, and if the only goal is a summary. */
  readonly compactAboveTokens: number | undefined;
  /** The same without the economy, which may lower the limit. */
  readonly thresholdTokens: number | undefined;
  /** As read, or more if a refusal showed that the reading was too low. */
  readonly total: { tokens: number; estimatedTokens: number; isCounted?: boolean };
}

export interface DecisionOptions {
  reason: CompactionReason;
  settings: CompactionSettings;
  /** Default: a model with an unknown window. */
  model?: ModelSizes | undefined;
  isModelAsked: boolean;
  /**
   * True inside a task. The compaction then keeps as much as one by threshold, because the model has not seen the newest
   * results. Default: false.
   */
  isMidTask?: boolean | undefined;
  /** For the reason "overflow": the numbers that the provider reported. */
  refusal?: Refusal | undefined;
  /** Now, in milliseconds since the epoch, to detect an expired cache. Default: the cache is kept. */
  nowMs?: number | undefined;
}

/** Decides which size the context may have. */
export function decide(reading: ContextReading, options: DecisionOptions): Decision {
  const { reason, settings, model = {}, isMidTask = false, isModelAsked, nowMs } = options;
  if (reason === "overflow") return decisionAfterRefusal(reading, settings, model, options.refusal);
  const budgets = budgetsFor({ settings, model, reason: isMidTask ? "threshold" : reason });
  const asked = { settings, model, budgets, reading, isModelAsked, nowMs };
  const limit = reason === "manual" ? undefined : contextLimit(asked);
  return {
    reading,
    budgets,
    compactAboveTokens: limit?.compactAboveTokens,
    thresholdTokens: limit?.thresholdTokens,
    isExpired: limit?.isExpired ?? false,
    total: { tokens: reading.tokens, estimatedTokens: reading.trailingTokens },
  };
}

function decisionAfterRefusal(
  reading: ContextReading,
  settings: CompactionSettings,
  model: ModelSizes,
  refused: Refusal = {},
): Decision {
  const refusal = believedRefusal(refused, reading);
  const { tokens: readTokens, trailingTokens, source } = reading;
  // The refused request is larger than an unknown window.
  const contextWindow = model.contextWindow || (refusal.inputTokens ?? readTokens);
  const budgets = budgetsFor({ settings, model: { ...model, contextWindow }, reason: "overflow" });
  const isKnown = Boolean(model.contextWindow);
  const own = settingsForModel(settings, model);
  const limit = limitAfterRefusal({ settings: own, budgets, isKnown, refusal, reading });
  const tokens = refusedTokens(refusal, reading, budgets.windowTokens);
  const estimatedTokens = tokens === readTokens ? trailingTokens : tokens;
  const total =
    tokens === refusal.inputTokens
      ? { tokens, estimatedTokens: 0, isCounted: source === "usage" }
      : { tokens, estimatedTokens };
  return { reading, budgets, compactAboveTokens: limit, thresholdTokens: limit, total };
}
