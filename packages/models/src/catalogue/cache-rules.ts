import { type CacheRules, usualCacheRules } from "@bonsai-agent/messages";

const MINUTES = 60_000;

/** The cache rules of a vendor's own server, from its documents. */
interface VendorRules {
  provider: string;
  /** Matches the ids of models. */
  models: RegExp;
  rules: CacheRules;
}

// Read on 2026-11-28 in the vendors' documents; each group of rows names its document. The documents do not name all
// models: a vendor's last row and the usual rules guess their minimum. A minimum only changes estimates of costs, such as
// those of cache.keepWarm and compaction.economy.

// https://platform.claude.com/docs/en/build-with-claude/prompt-caching
const claude: CacheRules = {
  ...usualCacheRules,
  lifetimes: [
    { keptMs: 5 * MINUTES, writePriceFactor: 1.25 },
    { keptMs: 60 * MINUTES, writePriceFactor: 2 },
  ],
  breakpoints: 4,
  lookbackBlocks: 20,
  isAutomatic: false,
};

// https://developers.openai.com/api/docs/guides/prompt-caching and the types of the SDK `openai` 7.57.
const gpt: CacheRules = {
  ...usualCacheRules,
  lifetimes: [{ keptMs: 5 * MINUTES, writePriceFactor: 1 }],
  breakpoints: 0,
  isAutomatic: true,
};

/** From GPT-5.6 on: four writes for each request, one of them at the end of the latest message. */
const gptWithBreakpoints: CacheRules = {
  minimumTokens: 1_024,
  keptMs: 30 * MINUTES,
  lifetimes: [
    { keptMs: 30 * MINUTES, writePriceFactor: 1.25 },
    // No document states the price.
    { keptMs: 12 * 60 * MINUTES, writePriceFactor: undefined },
  ],
  breakpoints: 3,
  isAutomatic: true,
};

// https://ai.google.dev/gemini-api/docs/caching. No lifetime is stated.
const gemini: CacheRules = { ...usualCacheRules, breakpoints: 0, isAutomatic: true };

/** The first match counts. Models without a row have `usualCacheRules`. */
const vendorRules: readonly VendorRules[] = [
  { provider: "anthropic", models: /^claude-(opus|fable)-5$/, rules: { ...claude, minimumTokens: 512 } },
  { provider: "anthropic", models: /^claude-opus-4-7/, rules: { ...claude, minimumTokens: 2_048 } },
  {
    provider: "anthropic",
    models: /^claude-(opus-4-[56]|haiku-4-5)/,
    rules: { ...claude, minimumTokens: 4_096 },
  },
  { provider: "anthropic", models: /^claude-/, rules: claude },
  { provider: "openai", models: /^gpt-(5\.[6-9]|[6-9]|daybreak)/, rules: gptWithBreakpoints },
  { provider: "openai", models: /^/, rules: gpt },
  { provider: "google", models: /^gemini-2\.5/, rules: { ...gemini, minimumTokens: 2_048 } },
  { provider: "google", models: /^gemini-/, rules: { ...gemini, minimumTokens: 4_096 } },
];

/** The documented rules of a model at its vendor's own server. Undefined if none are known. */
export function vendorCacheRules(model: { provider: string; id: string }): CacheRules | undefined {
  return vendorRules.find(({ provider, models }) => provider === model.provider && models.test(model.id))
    ?.rules;
}
