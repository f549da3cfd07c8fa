import type { CompactionSettingsInput } from "./settings-schema.ts";

export type PresetName = "bonsai" | "pi" | "klaude" | "tunacode" | "opencode";

/**
 * Other agents' policies as settings, so that they can be run, compared and replayed; what a preset leaves
 * out is Bonsai's default.
 */
export const compactionPresets: Readonly<Record<PresetName, CompactionSettingsInput>> = {
  bonsai: {},
  pi: {
    threshold: { rule: "reserve" },
    scaleBudgets: false,
    mask: { enabled: false },
    estimator: "chars4",
    summarizer: { fallback: "never" },
    afterThreshold: "wait",
  },
  klaude: {
    threshold: { rule: "reserve" },
    manualKeep: "quarter",
    mask: { enabled: false },
    sites: ["beforePrompt", "betweenTools"],
    estimator: "chars4",
    summarizer: { fallback: "never" },
    bodyless429IsOverflow: true,
  },
  tunacode: {
    threshold: { rule: "reservePlusKeep" },
    manualKeep: "nothing",
    scaleBudgets: false,
    mask: { enabled: false },
    serialize: { toolResultChars: 500 },
    sites: ["beforePrompt", "betweenTools"],
    estimator: "chars4Floor",
    summarizer: { fallback: "never" },
  },
  opencode: {
    threshold: { rule: "outputLimit" },
    scaleBudgets: false,
    mask: { enabled: true, protectTokens: 40_000, minimumTokens: 20_000 },
    sites: ["afterAnswer"],
    estimator: "chars4",
    summarizer: { fallback: "never" },
    afterThreshold: "continueMessage",
  },
};
