import { BonsaiError, type BonsaiErrorOptions, isRecord, jsonText } from "@bonsai-agent/messages";
import { z } from "zod";
import type { CompactionReason } from "./outcome.ts";

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
const settingsObject = z.strictObject({
  enabled: z.boolean().default(true),
  onOverflow: z.boolean().default(true),
  confirm: z.enum(["never", "manual", "always"]).default("never"),
  preset: z.enum(["bonsai", "pi", "klaude", "tunacode", "opencode"]).default("bonsai"),
  threshold: thresholdSchema.prefault({}),
  economy: z.union([z.enum(["off", "auto"]), z.number().int().min(1)]).default("off"),
  keepRecentTokens: tokens.default(20_000),
  manualKeep: z.enum(["same", "quarter", "nothing"]).default("same"),
  scaleBudgets: z.boolean().default(true),
  mask: maskSchema.prefault({}),
  serialize: serializeSchema.prefault({}),
  words: z.strictObject({ maxTokens: tokens.default(4_000) }).prefault({}),
  terms: z.strictObject({ maxTokens: tokens.default(1_000) }).prefault({}),
  background: z.boolean().default(true),
  lossCheck: z.enum(["off", "report", "putBack"]).default("putBack"),
  putBackTokens: tokens.default(500),
  summarizer: z
    .strictObject({ fallback: z.enum(["always", "overflow", "never"]).default("always") })
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

/** True where the digest takes the place of a model's summary that failed, for a compaction of this reason. */
export function digestStandsIn({ summarizer }: CompactionSettings, reason: CompactionReason): boolean {
  const { fallback } = summarizer;
  return fallback === "always" || (fallback === "overflow" && reason === "overflow");
}

/** True where a compaction of this reason is shown before it is written, to whoever can be asked. */
export function isReviewed({ confirm }: CompactionSettings, reason: CompactionReason): boolean {
  return confirm === "always" || (confirm === "manual" && reason === "manual");
}

/** Other agents carry nothing of this, and compact when they have to. */
const NOTHING_CARRIED: CompactionSettingsInput = {
  economy: "off",
  background: false,
  words: { maxTokens: 0 },
  terms: { maxTokens: 0 },
  lossCheck: "off",
};

export type PresetName = "bonsai" | "pi" | "klaude" | "tunacode" | "opencode";

/**
 * Other agents' policies as settings, so that they can be run, compared and replayed; what a preset leaves
 * out is Bonsai's default.
 */
export const compactionPresets: Readonly<Record<PresetName, CompactionSettingsInput>> = {
  bonsai: {},
  pi: {
    ...NOTHING_CARRIED,
    threshold: { rule: "reserve" },
    scaleBudgets: false,
    mask: { enabled: false },
    estimator: "chars4",
    summarizer: { fallback: "never" },
    afterThreshold: "wait",
  },
  klaude: {
    ...NOTHING_CARRIED,
    threshold: { rule: "reserve" },
    manualKeep: "quarter",
    mask: { enabled: false },
    sites: ["beforePrompt", "betweenTools"],
    estimator: "chars4",
    summarizer: { fallback: "never" },
    bodyless429IsOverflow: true,
  },
  tunacode: {
    ...NOTHING_CARRIED,
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
    ...NOTHING_CARRIED,
    threshold: { rule: "outputLimit" },
    scaleBudgets: false,
    mask: { enabled: true, protectTokens: 40_000, minimumTokens: 20_000 },
    sites: ["afterAnswer"],
    estimator: "chars4",
    summarizer: { fallback: "never" },
    afterThreshold: "continueMessage",
  },
};

/**
 * The settings to work with: the defaults, over them the preset, over it what the user set.
 * @throws BonsaiError `compaction_setting_invalid`, naming the key, what was found and what is allowed.
 */
export function compactionSettings(input: unknown = {}): CompactionSettings {
  const preset = compactionPresets[presetName(input)];
  return parseSettings(settingsObject, merged(preset, input), {
    section: "compaction",
    error: (problem) =>
      new BonsaiError({
        /** A compaction setting has a wrong value or an unknown key. The message names both. */
        code: "compaction_setting_invalid",
        ...problem,
      }),
  });
}

function presetName(input: unknown): PresetName {
  const name = (input as { preset?: unknown } | null | undefined)?.preset;
  return typeof name === "string" && Object.hasOwn(compactionPresets, name) ? (name as PresetName) : "bonsai";
}

/** `over` laid on `base`, plain objects key by key; anything else replaces. */
function merged(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (!isRecord(base) || !isRecord(over)) return over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(base[key], over[key])]));
}

interface ParseSettingsOptions {
  /** Where they stand in all settings. Default: they are all. */
  section?: string;
  /** The error for what is wrong: its message names the key, what was found and what is allowed. */
  error: (problem: Omit<BonsaiErrorOptions, "code">) => BonsaiError;
}

/**
 * Settings by their schema.
 * @throws the error of the options
 */
export function parseSettings<Schema extends z.ZodObject>(
  schema: Schema,
  input: unknown,
  { section, error: errorOf }: ParseSettingsOptions,
): z.output<Schema> {
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  const issue = error.issues[0]!;
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...issue.path, ...(unknown === undefined ? [] : [unknown])];
  const key = [...(section === undefined ? [] : [section]), ...path].join(".");
  const found = jsonText(valueAt(input, path)) || "nothing";
  const allowed =
    unknown === undefined ? allowedValues(issue) : `one of the keys ${keysAt(schema, issue.path)}`;
  if (key === "")
    throw errorOf({
      message: `The settings are ${found}; allowed is an object.`,
      hint: "Write them as a JSON object.",
      cause: error,
    });
  throw errorOf({
    message: `The setting ${key} is ${found}; allowed is ${allowed}.`,
    hint: `Correct or remove ${key} in the settings file.`,
    cause: error,
  });
}

function allowedValues(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_value":
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_type":
      return issue.expected === "int" ? "a whole number" : `a value of type ${issue.expected}`;
    case "invalid_union":
      return [...new Set(issue.errors.flat().map(allowedValues))].join(", or ");
    case "too_small":
      return `at least ${issue.minimum}`;
    case "too_big":
      return `at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], input);
}

function keysAt(schema: z.ZodObject, path: readonly PropertyKey[]): string {
  const inner = path.reduce<unknown>((value, key) => unwrapped(value)?.shape[String(key)], schema);
  return Object.keys(unwrapped(inner)?.shape ?? {}).join(", ");
}

/** The object schema below defaults. */
function unwrapped(schema: unknown): z.ZodObject | undefined {
  const inner = schema as { shape?: unknown; unwrap?: () => unknown } | undefined;
  if (inner?.shape !== undefined) return inner as z.ZodObject;
  return inner?.unwrap === undefined ? undefined : unwrapped(inner.unwrap());
}
