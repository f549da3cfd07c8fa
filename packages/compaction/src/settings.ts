import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { parseSettings } from "@bonsai-agent/messages/host";
import { compactionValues, modelCompactionSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import type { Summariser } from "./summariser.ts";

const tokens = z.number().int().min(0);
const chars = z.number().int().min(100);

const thresholdSchema = z.strictObject({
  rule: compactionValues.rule.default("reserve").meta({
    description:
      "Decides when the context is full: by a free reserve, a percentage, a size, or the model's output limit.",
  }),
  reserveTokens: compactionValues.reserveTokens.default(16_384).meta({
    description: "Tokens that stay free for the answer; at most a quarter of a small window.",
  }),
  percent: compactionValues.percent.default(92).meta({
    description: 'With the rule "percent": compact above this percentage of the window.',
  }),
  sizeTokens: compactionValues.sizeTokens.default(150_000).meta({
    description: 'With the rule "size": compact above this many tokens, or earlier if the window is smaller.',
  }),
});

const maskSchema = z.strictObject({
  enabled: z.boolean().default(true).meta({
    description: "Before a summary, replace old tool results by a placeholder in the model's view.",
  }),
  protectTokens: tokens.default(40_000).meta({
    description: "Tokens of the newest tool results that are never masked.",
  }),
  minimumTokens: tokens.default(20_000).meta({
    description: "Mask only if this frees at least this many tokens.",
  }),
});

const serializeSchema = z.strictObject({
  toolResultChars: chars.default(2_000).meta({
    description: "Maximum characters of each tool result that the summariser reads.",
  }),
});

/** Kinds of summaries. Each but the first falls back to the next ones that it can. */
const SUMMARISER_KINDS = ["auto", "text", "cached", "provider", "digest"] as const;

const switches = {
  enabled: z.boolean().default(true).meta({
    description: "Compact automatically when the context is full.",
  }),
  onOverflow: z.boolean().default(true).meta({
    description: "If the provider rejects a request as too long, compact and send it again.",
  }),
  confirm: z.enum(["never", "manual", "always"]).default("never").meta({
    description: 'Ask before compacting: "manual" only for /compact, "always" for automatic compactions too.',
  }),
};

const parts = {
  threshold: thresholdSchema.prefault({}),
  economy: compactionValues.economy.default("off").meta({
    description:
      'Compact earlier to save money: "auto" finds the cheapest size, a number sets the size in tokens.',
  }),
  keepRecentTokens: compactionValues.keepRecentTokens.default(20_000).meta({
    description:
      "Tokens of the newest messages that a compaction keeps word for word; fewer in small windows.",
  }),
  mask: maskSchema.prefault({}),
  serialize: serializeSchema.prefault({}),
  words: z
    .strictObject({
      maxTokens: tokens.default(4_000).meta({
        description:
          "Maximum tokens of your own words after a summary, at most a tenth of the window; 0 turns them off.",
      }),
    })
    .prefault({}),
  terms: z
    .strictObject({
      maxTokens: tokens.default(2_400).meta({
        description: "Maximum tokens of the index of exact terms after a summary; 0 turns it off.",
      }),
    })
    .prefault({}),
  background: z.boolean().default(true).meta({
    description: "Start the summary in the background shortly before the context is full.",
  }),
  showBudget: z.boolean().default(true).meta({
    description: "Tell the model in one line when 50, 75 and 90 percent of its context are used.",
  }),
  allowRequests: z.boolean().default(true).meta({
    description: "Let the model ask for a compaction at a good moment, with the tool context.",
  }),
  lossCheck: z.enum(["off", "report", "putBack"]).default("putBack").meta({
    description: 'Check summaries for missing facts: "report" counts them, "putBack" also adds them.',
  }),
  summarizer: z
    .strictObject({
      kind: z.enum(SUMMARISER_KINDS).default("auto").meta({
        description:
          'Maker of summaries: "auto" is the cheaper of "text" and "cached"; "digest" asks no model.',
      }),
      fallback: z.enum(["always", "overflow", "never"]).default("always").meta({
        description: "When to use the built-in digest after a model's summary failed.",
      }),
    })
    .prefault({}),
};

const models = z.record(z.string().min(1), modelCompactionSchema).default({}).meta({
  description: "Own threshold, economy and keepRecentTokens of models that match a name like anthropic/*.",
});

const presetSettingsSchema = z.strictObject({ ...switches, ...parts });

const policyObject = z.strictObject({
  /** Recent messages that `/compact` keeps: as many as at the threshold, a quarter (2,048 to 8,192 tokens), or none. */
  manualKeep: z.enum(["same", "quarter", "nothing"]).default("same"),
  /** Lowers the reserve (to 25%) and the kept tokens (to 35%) in small windows. */
  scaleBudgets: z.boolean().default(true),
  /** Counts tokens: by script and corrected by the session's usage, or by four characters each. */
  estimator: z.enum(["calibrated", "chars4", "chars4Floor"]).default("calibrated"),
  /** Moments at which the threshold is checked. */
  sites: z
    .array(z.enum(["beforePrompt", "betweenTools", "afterAnswer"]))
    .default(["beforePrompt", "betweenTools", "afterAnswer"]),
  /** After a compaction between tools: continue, wait for the user, or continue with a message. */
  afterThreshold: z.enum(["goOn", "wait", "continueMessage"]).default("goOn"),
  /** Treats a 429 without a body as an overflow. */
  bodyless429IsOverflow: z.boolean().default(false),
});

/**
 * The part of a preset that imitates an agent's habits. It is not in the settings file: users choose a preset, callers
 * of the library can override a field.
 */
export type CompactionPolicy = z.output<typeof policyObject>;

/** A compaction policy. Absent fields have Bonsai's defaults. */
export interface CompactionPreset {
  readonly settings: z.input<typeof presetSettingsSchema>;
  readonly policy: Partial<CompactionPolicy>;
}

/** Other agents add nothing to a summary, and compact only when they have to. */
const PLAIN_SUMMARY: CompactionPreset["settings"] = {
  economy: "off",
  background: false,
  showBudget: false,
  allowRequests: false,
  words: { maxTokens: 0 },
  terms: { maxTokens: 0 },
  lossCheck: "off",
  summarizer: { fallback: "never" },
};

// A new preset needs only its row here.
const presets = {
  bonsai: { settings: {}, policy: {} },
  pi: {
    settings: { ...PLAIN_SUMMARY, threshold: { rule: "reserve" }, mask: { enabled: false } },
    policy: { scaleBudgets: false, estimator: "chars4", afterThreshold: "wait" },
  },
  klaude: {
    settings: { ...PLAIN_SUMMARY, threshold: { rule: "reserve" }, mask: { enabled: false } },
    policy: {
      manualKeep: "quarter",
      sites: ["beforePrompt", "betweenTools"],
      estimator: "chars4",
      bodyless429IsOverflow: true,
    },
  },
  tunacode: {
    settings: {
      ...PLAIN_SUMMARY,
      threshold: { rule: "reservePlusKeep" },
      mask: { enabled: false },
      serialize: { toolResultChars: 500 },
    },
    policy: {
      manualKeep: "nothing",
      scaleBudgets: false,
      sites: ["beforePrompt", "betweenTools"],
      estimator: "chars4Floor",
    },
  },
  opencode: {
    settings: {
      ...PLAIN_SUMMARY,
      threshold: { rule: "outputLimit" },
      mask: { enabled: true, protectTokens: 40_000, minimumTokens: 20_000 },
    },
    policy: {
      scaleBudgets: false,
      sites: ["afterAnswer"],
      estimator: "chars4",
      afterThreshold: "continueMessage",
    },
  },
} satisfies Readonly<Record<string, CompactionPreset>>;

export type PresetName = keyof typeof presets;

/** Other agents' policies, to run, compare and replay them. */
export const compactionPresets: Readonly<Record<PresetName, CompactionPreset>> = presets;

const settingsObject = z.strictObject({
  ...switches,
  preset: z
    .enum(Object.keys(presets) as [PresetName, ...PresetName[]])
    .default("bonsai")
    .meta({
      description:
        "Compaction policy, named after its agent. The other compaction settings override parts of it.",
    }),
  ...parts,
  models,
});

/** The `compaction` part of the settings and the preset's policy, with every default filled in. */
export type CompactionSettings = z.output<typeof settingsObject> & CompactionPolicy;
/** The `compaction` part of the settings as a user writes it. */
export type CompactionSettingsInput = z.input<typeof settingsObject>;

/** Validates the `compaction` part of the settings; its JSON Schema is published from it. */
export const compactionSettingsSchema: z.ZodType<
  z.output<typeof settingsObject>,
  CompactionSettingsInput
> = settingsObject;

/**
 * Fills in the settings: the user's values over the preset's, the preset's over the defaults.
 * @param policy overrides fields of the preset's policy
 * @throws BonsaiError `compaction_setting_invalid`, naming the key, the value and the allowed values.
 */
export function compactionSettings(
  input: unknown = {},
  policy: Partial<CompactionPolicy> = {},
): CompactionSettings {
  const preset = compactionPresets[presetName(input)];
  const error = (problem: Omit<ConstructorParameters<typeof BonsaiError>[0], "code">) =>
    new BonsaiError({
      /** A compaction setting has a wrong value or an unknown key. The message names both. */
      code: "compaction_setting_invalid",
      ...problem,
    });
  return {
    ...parseSettings(settingsObject, merged(preset.settings, input), { section: "compaction", error }),
    ...parseSettings(policyObject, merged(preset.policy, policy), { section: "compaction.policy", error }),
  };
}

/** The summariser to ask: none if the settings want the digest. */
export function askedSummariser({
  settings,
  summariser,
}: {
  settings: Pick<CompactionSettings, "summarizer">;
  summariser?: Summariser | undefined;
}): Summariser | undefined {
  return settings.summarizer.kind === "digest" ? undefined : summariser;
}

function presetName(input: unknown): PresetName {
  const name = (input as { preset?: unknown } | null | undefined)?.preset;
  return typeof name === "string" && Object.hasOwn(compactionPresets, name) ? (name as PresetName) : "bonsai";
}

/** Merges `over` into `base`, plain objects key by key; any other value replaces. */
function merged(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (!isRecord(base) || !isRecord(over)) return over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(base[key], over[key])]));
}
