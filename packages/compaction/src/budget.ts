import type { Model } from "@bonsai-agent/messages";
import type { CompactionReason } from "./outcome.ts";
import type { CompactionSettings } from "./settings-schema.ts";

/** The sizes of the session's model that compaction needs. */
export type ModelSizes = Pick<Model, "contextWindow" | "maxOutputTokens">;

/** Sizes in tokens, scaled to the model's window. */
export interface Budgets {
  /** Undefined where the window is unknown. */
  windowTokens: number | undefined;
  reserveTokens: number;
  keepTokens: number;
  /** The longest answer that room is kept for. */
  outputTokens: number;
}

export interface BudgetOptions {
  settings: CompactionSettings;
  model: ModelSizes;
  /** Default "threshold". */
  reason?: CompactionReason;
}

const RESERVE = { minimumTokens: 2_048, windowShare: 0.25 };
const KEEP = { minimumTokens: 4_096, windowShare: 0.35 };
/** A manual compaction under `manualKeep: "quarter"` keeps a quarter of the budget within these bounds. */
const QUARTER = { minimumTokens: 2_048, maximumTokens: 8_192 };
const LATEST_REQUEST = { minimumChars: 4_000, maximumChars: 40_000 };
/** What an answer may take where the model does not say. */
const DEFAULT_OUTPUT_TOKENS = 32_000;

/**
 * reserve = min(setting, max(2,048, 25% of the window)), keep = min(setting, max(4,096, 35%)) and at most
 * window - reserve. With `scaleBudgets: false` or an unknown window the settings hold as they are.
 */
export function budgetsFor({ settings, model, reason = "threshold" }: BudgetOptions): Budgets {
  const windowTokens = model.contextWindow || undefined;
  const reserveTokens = scaled(settings.threshold.reserveTokens, RESERVE, settings, windowTokens);
  const keep = scaled(settings.keepRecentTokens, KEEP, settings, windowTokens);
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

/** The longest request that is carried over word for word: an eighth of the window, in characters. */
export function latestRequestChars({ windowTokens }: Budgets): number {
  if (windowTokens === undefined) return LATEST_REQUEST.maximumChars;
  const chars = Math.floor(windowTokens / 2);
  return Math.min(LATEST_REQUEST.maximumChars, Math.max(LATEST_REQUEST.minimumChars, chars));
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
