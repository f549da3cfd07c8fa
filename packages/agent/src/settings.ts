import { compactionSettings, compactionSettingsSchema, parseSettings } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import { defaultRetryPolicy, thinkingLevels } from "@bonsai-agent/models";
import { z } from "zod";

const modelName = z.string().regex(/^[^/\s]+\/\S+$/, "a name of the form provider/id");
const paths = z.array(z.string().min(1)).default([]);
const wait = z.number().int().min(0);

const retrySchema = z.strictObject({
  maxRetries: z.number().int().min(0).default(defaultRetryPolicy.maxRetries),
  baseDelayMs: wait.default(defaultRetryPolicy.baseDelayMs),
  maxDelayMs: wait.default(defaultRetryPolicy.maxDelayMs),
  silenceMs: wait.default(defaultRetryPolicy.silenceMs),
  contentMs: wait.default(defaultRetryPolicy.contentMs),
});

const limitsSchema = z.strictObject({
  runRequests: z.number().int().min(0).default(200),
});

/** The schema itself, for who looks into its shape. */
export const settingsObject = z.strictObject({
  model: modelName.optional(),
  smallModel: modelName.optional(),
  favoriteModels: z.array(z.string().min(1)).default([]),
  thinking: z.enum(thinkingLevels).default("off"),
  tools: z.array(z.string().min(1)).optional(),
  extensions: paths,
  skills: paths,
  prompts: paths,
  themes: paths,
  compaction: compactionSettingsSchema.prefault({}),
  paths: z.strictObject({ allow: z.array(z.string().min(1)).default([]) }).prefault({}),
  bash: z.strictObject({ timeoutSeconds: z.number().int().min(0).default(120) }).prefault({}),
  retry: retrySchema.prefault({}),
  limits: limitsSchema.prefault({}),
  titles: z.boolean().default(true),
  index: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}),
  recall: z
    .strictObject({
      enabled: z.boolean().default(true),
      maxTokens: z.number().int().min(500).default(4_000),
      sessions: z.boolean().default(false),
    })
    .prefault({}),
  theme: z
    .string()
    .regex(/^[^/]+(\/[^/]+)?$/, '"auto", the name of a theme, or two as "light/dark"')
    .default("auto"),
  footer: z.strictObject({ tokens: z.boolean().default(false) }).prefault({}),
  editor: z.string().min(1).optional(),
  skillTokens: z.number().int().min(0).default(4_000),
  instructionFiles: z.array(z.string().min(1)).default(["AGENTS.md", "CLAUDE.md"]),
});

/** How an agent works, with every default filled in. */
export type AgentSettings = z.output<typeof settingsObject>;
/** What a user writes of it; all of it may be left out. */
export type AgentSettingsInput = z.input<typeof settingsObject>;

/** Validates the settings of an agent; their JSON Schema is published from it. */
export const agentSettingsSchema: z.ZodType<AgentSettings, AgentSettingsInput> = settingsObject;

/**
 * The settings to work with: the defaults, over them what the user set; in the `compaction` part its preset between.
 * @throws BonsaiError `setting_invalid` and, for the `compaction` part, `compaction_setting_invalid`: each names the
 *   key, what was found and what is allowed.
 */
export function agentSettings(input: unknown = {}): AgentSettings {
  return parseSettings(settingsObject, withPreset(input), {
    error: (problem) =>
      new BonsaiError({
        /** A setting has a wrong value or an unknown key. The message names both. */
        code: "setting_invalid",
        ...problem,
      }),
  });
}

function withPreset(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const { compaction } = input as { compaction?: unknown };
  return { ...input, compaction: compactionSettings(compaction) };
}
