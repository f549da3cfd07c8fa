import { z } from "zod";
import { compactionPresets, type PresetName } from "./presets.ts";
import { settingsError } from "./settings-error.ts";

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

const schema = z.strictObject({
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
export type CompactionSettings = z.output<typeof schema>;
/** The `compaction` part of the settings as a user writes it. */
export type CompactionSettingsInput = z.input<typeof schema>;

/** Validates the `compaction` part of the settings; its JSON Schema is published from it. */
export const compactionSettingsSchema: z.ZodType<CompactionSettings, CompactionSettingsInput> = schema;

/**
 * The settings to work with: the defaults, over them the preset, over it what the user set.
 * @throws BonsaiError `compaction_setting_invalid`, naming the key, what was found and what is allowed.
 */
export function compactionSettings(input: unknown = {}): CompactionSettings {
  const preset = compactionPresets[presetName(input)];
  const parsed = schema.safeParse(merged(preset, input));
  if (parsed.success) return parsed.data;
  throw settingsError(parsed.error, input, schema);
}

function presetName(input: unknown): PresetName {
  const name = (input as { preset?: unknown } | null | undefined)?.preset;
  return typeof name === "string" && Object.hasOwn(compactionPresets, name) ? (name as PresetName) : "bonsai";
}

/** `over` laid on `base`, plain objects key by key; anything else replaces. */
function merged(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (!isPlainObject(base) || !isPlainObject(over)) return over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(base[key], over[key])]));
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
