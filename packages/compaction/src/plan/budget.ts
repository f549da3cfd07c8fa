import { byScript, type Model } from "@bonsai-agent/messages";
import type { CompactionReason } from "../carry/details.ts";
import type { CompactionSettings } from "../settings.ts";
import type { Summariser, SummaryKind } from "../summariser.ts";
import type { ContextSize } from "./view.ts";

/** Of the session's model, what compaction needs: its sizes, and for the economy what it costs. */
export type ModelSizes = Pick<
  Model,
  "contextWindow" | "maxOutputTokens" | "usdPerMillionTokens" | "cacheRules" | "input"
> & {
  /** The window before a refusal named a smaller one. */
  declaredWindow?: number | undefined;
};

/** Sizes in tokens, scaled to the model's window. */
export interface Budgets {
  /** Undefined where the window is unknown. */
  windowTokens: number | undefined;
  reserveTokens: number;
  keepTokens: number;
  /** The longest answer that is allowed for. */
  outputTokens: number;
}

const RESERVE = { minimumTokens: 2_048, windowShare: 0.25 };
const KEEP = { minimumTokens: 4_096, windowShare: 0.35 };
/** A manual compaction under `manualKeep: "quarter"` keeps a quarter of the budget within these bounds. */
const QUARTER = { minimumTokens: 2_048, maximumTokens: 8_192 };
/** What an answer may take where the model does not say. */
const DEFAULT_OUTPUT_TOKENS = 32_000;

/**
 * reserve = min(setting, max(2,048, 25% of the window)), keep = min(setting, max(4,096, 35%)) and at most
 * window - reserve. With `scaleBudgets: false` or an unknown window the settings hold as they are. A working size of
 * somebody's choice scales what is kept as a window of that size would: else a small one would be full of it.
 * @param options.reason default "threshold"; for "manual", what is kept is by `manualKeep`
 */
export function budgetsFor(options: {
  settings: CompactionSettings;
  model: ModelSizes;
  reason?: CompactionReason;
}): Budgets {
  const { settings, model, reason } = options;
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

/** Of what is kept, what one command of the user printed takes at most this part, for people list and log whole trees. */
const COMMAND_SHARE = 0.25;
const LEAST_COMMAND_TOKENS = 200;

/** The most tokens that a command of the user and its output count for in what is kept. */
export function commandShareTokens(keepTokens: number): number {
  return Math.max(LEAST_COMMAND_TOKENS, Math.floor(keepTokens * COMMAND_SHARE));
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
  return Math.min(keepTokens, QUARTER.maximumTokens, Math.max(QUARTER.minimumTokens, quarter));
}

function outputTokens(modelLimit: number | undefined, windowTokens: number | undefined): number {
  const limit = Math.min(modelLimit || DEFAULT_OUTPUT_TOKENS, DEFAULT_OUTPUT_TOKENS);
  return windowTokens === undefined ? limit : Math.min(limit, Math.floor(windowTokens / 2));
}

type Rule = CompactionSettings["threshold"]["rule"];

/** The most tokens that the context may hold without compaction, by rule. */
const limits: Record<Rule, (budgets: Budgets & { windowTokens: number }, percent: number) => number> = {
  reserve: ({ windowTokens, reserveTokens }) => windowTokens - reserveTokens,
  percent: ({ windowTokens }, percent) => Math.floor((windowTokens * percent) / 100),
  outputLimit: ({ windowTokens, outputTokens }) => windowTokens - outputTokens,
  reservePlusKeep: ({ windowTokens, reserveTokens, keepTokens }) => windowTokens - reserveTokens - keepTokens,
  // The rule says "at or above", so the largest context that passes is one token less.
  effectiveWindow: ({ windowTokens, outputTokens, reserveTokens }) =>
    windowTokens - outputTokens - reserveTokens - 1,
};

/** The most tokens that the context may hold: one more calls for compaction. Undefined for an unknown window. */
export function thresholdTokens(settings: CompactionSettings, budgets: Budgets): number | undefined {
  const { windowTokens } = budgets;
  if (windowTokens === undefined) return undefined;
  const { rule, percent } = settings.threshold;
  return Math.max(0, limits[rule]({ ...budgets, windowTokens }, percent));
}

/** What a request may take of a window, for an answer needs some of it and an estimate errs. */
const USABLE_SHARE = 0.8;

/**
 * A request whose estimate is so many times the window is not sent: estimates err by a tenth on paths and values, seldom
 * by more upwards, and a server that cuts in silence would lose the beginning of it.
 */
const FAR_ABOVE = 1.1;

/** The most tokens of a request that is sent; undefined for an unknown window. */
export function sendableTokens(windowTokens: number | undefined): number | undefined {
  return windowTokens ? Math.floor(windowTokens * FAR_ABOVE) : undefined;
}

/** Where a compaction wants to come down to, in estimated tokens of the messages. */
export interface Aims {
  /** What the context must come down to; undefined when a summary is the goal itself. */
  readonly targetTokens: number | undefined;
  /** What it must come down to whatever is lost: above the target where only money speaks for that. Undefined as the target. */
  readonly neededTokens: number | undefined;
  /** What the window can take at all; undefined where the window is unknown. */
  readonly mostTokens: number | undefined;
  /** What would be sent at all; undefined where the window is unknown. */
  readonly sendableTokens: number | undefined;
}

export function aimsOf(
  size: ContextSize,
  of: Pick<Budgets, "windowTokens"> & Record<"limitTokens" | "neededTokens", number | undefined>,
): Aims {
  const { windowTokens, limitTokens, neededTokens } = of;
  const within = (tokens: number | undefined) =>
    tokens === undefined ? undefined : size.estimateWithin(tokens);
  return {
    targetTokens: within(limitTokens),
    neededTokens: within(neededTokens),
    mostTokens: within(windowTokens && Math.floor(windowTokens * USABLE_SHARE)),
    sendableTokens: within(sendableTokens(windowTokens)),
  };
}

/** The sizes by which a summariser is asked. */
export type SummariserSizes = Pick<Summariser, "contextWindow" | "maxOutputTokens">;

/** The largest answers that are asked for, as shares of the reserve. */
const reserveShares: Record<SummaryKind, number> = { history: 0.8, turnPrefix: 0.5, branch: 0.25 };
/** A small summariser must keep most of its window for what it reads. */
const WINDOW_SHARE = 0.25;

/** The largest answer to ask a summariser for, in tokens. */
export function maxSummaryTokens(kind: SummaryKind, summariser: SummariserSizes, budgets: Budgets): number {
  const { contextWindow, maxOutputTokens } = summariser;
  return Math.floor(
    Math.min(
      budgets.reserveTokens * reserveShares[kind],
      maxOutputTokens || Number.POSITIVE_INFINITY,
      contextWindow ? contextWindow * WINDOW_SHARE : Number.POSITIVE_INFINITY,
    ),
  );
}

/** After a refusal, an answer may take so much of what its request holds: the next request has to hold it too. */
const ANSWER_SHARE = 0.5;
/** With less, a model has nothing left for six headings. */
const LEAST_ANSWER_TOKENS = 1_000;

/** The largest answer to a request of so many tokens, where a refusal has shown that the window is not what was believed. */
export function mostAnswerTokens(requestTokens: number): number {
  return Math.max(LEAST_ANSWER_TOKENS, Math.floor(requestTokens * ANSWER_SHARE));
}

/** The most tokens that a request to a summariser may have: its window minus its output cap. */
export function requestCapacity(summariser: SummariserSizes): number {
  const { contextWindow, maxOutputTokens = 0 } = summariser;
  if (!contextWindow) return Number.POSITIVE_INFINITY;
  const outputTokens = Math.max(Math.min(maxOutputTokens, contextWindow / 2), contextWindow * WINDOW_SHARE);
  return Math.floor(contextWindow - outputTokens);
}

/** An estimate may err by so much on paths and values. */
const SAFETY = 1.1;

/** Tokens of a text, rather too many than too few: for what is promised to stay within a bound. */
export function highTokens(text: string): number {
  return Math.ceil(byScript(text) * SAFETY);
}
