import { z } from "zod";

const tokens = z.number().int().min(0);
const chars = z.number().int().min(100);

const thresholdSchema = z.strictObject({
  rule: z
    .enum(["reserve", "percent", "outputLimit", "reservePlusKeep", "effectiveWindow"])
    .default("reserve"),
  reserveTokens: tokens.default(16_384),
  percent: z.number().min(1).max(100).default(92),
});

const maskSchema = z.strictObject({
  enabled: z.boolean().default(true),
  mode: z.enum(["standard", "local"]).default("standard"),
  protectTokens: tokens.default(40_000),
  minimumTokens: tokens.default(20_000),
  minimumUserTurns: z.number().int().min(0).default(2),
});

const serializeSchema = z.strictObject({
  toolResultChars: chars.default(2_000),
  callChars: chars.default(2_000),
  commandOutputChars: chars.default(2_000),
  userChars: chars.default(20_000),
  assistantChars: chars.default(20_000),
});

/** The schema itself, for who looks into its shape. */
export const settingsObject = z.strictObject({
  enabled: z.boolean().default(true),
  onOverflow: z.boolean().default(true),
  preset: z.enum(["bonsai", "pi", "klaude", "tunacode", "opencode"]).default("bonsai"),
  threshold: thresholdSchema.prefault({}),
  keepRecentTokens: tokens.default(20_000),
  manualKeep: z.enum(["same", "quarter", "nothing"]).default("same"),
  scaleBudgets: z.boolean().default(true),
  mask: maskSchema.prefault({}),
  serialize: serializeSchema.prefault({}),
  summarizer: z
    .strictObject({ fallback: z.enum(["overflow", "always", "never"]).default("overflow") })
    .prefault({}),
  estimator: z.enum(["calibrated", "chars4", "chars4Floor"]).default("calibrated"),
  sites: z
    .array(z.enum(["beforePrompt", "betweenTools", "afterAnswer"]))
    .default(["beforePrompt", "betweenTools", "afterAnswer"]),
  afterThreshold: z.enum(["goOn", "wait", "continueMessage"]).default("goOn"),
  bodyless429IsOverflow: z.boolean().default(false),
});

/** The `compaction` part of the settings, with the preset and the defaults filled in. */
export type CompactionSettings = z.output<typeof settingsObject>;
/** The `compaction` part of the settings as a user writes it. */
export type CompactionSettingsInput = z.input<typeof settingsObject>;

/** Validates the `compaction` part of the settings; its JSON Schema is published from it. */
export const compactionSettingsSchema: z.ZodType<CompactionSettings, CompactionSettingsInput> =
  settingsObject;
