import {
  type CompactionSettings,
  compactionSettings,
  compactionSettingsSchema,
} from "@bonsai-agent/compaction";
import type { CompactionPolicy } from "@bonsai-agent/compaction/host";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { parseSettings } from "@bonsai-agent/messages/host";
import { defaultRetryPolicy, thinkingLevels } from "@bonsai-agent/models";
import { z } from "zod";

const modelName = z.string().regex(/^[^/\s]+\/\S+$/, "a model name like provider/id");
const names = z.array(z.string().min(1));
const count = z.number().int().min(0);

const settingsObject = z.strictObject({
  model: modelName.optional().meta({
    description: "Model of new sessions, as provider/id. If unset, Bonsai uses the first available model.",
  }),
  smallModel: modelName.optional().meta({
    description: "Cheap model that writes session titles. If unset, Bonsai makes titles without a model.",
  }),
  favoriteModels: names.default([]).meta({
    description:
      "Models to cycle through with a key, as provider/id or provider/id:high; * matches any text.",
  }),
  thinking: z
    .enum(thinkingLevels)
    .default("off")
    .meta({ description: "How much the model thinks before it answers." }),
  tools: names.optional().meta({ description: "Tools that the model can use; default: all." }),
  extensions: names.default([]).meta({ description: "Extensions to load: files, folders or npm packages." }),
  skills: names.default([]).meta({ description: "Additional files and folders with skills." }),
  prompts: names.default([]).meta({ description: "Additional files and folders with prompt templates." }),
  themes: names.default([]).meta({ description: "Additional files and folders with themes." }),
  compaction: compactionSettingsSchema.prefault({}),
  paths: z
    .strictObject({
      allow: names
        .default([])
        .meta({ description: "Folders outside the project that the file tools can access." }),
    })
    .prefault({}),
  bash: z
    .strictObject({
      timeoutSeconds: count
        .default(120)
        .meta({ description: "Default time limit of a command, in seconds; 0 means no limit." }),
    })
    .prefault({}),
  retry: z
    .strictObject({
      maxRetries: count.default(defaultRetryPolicy.maxRetries).meta({
        description: "How many times to retry after a rate limit, a server error or a lost connection.",
      }),
      maxDelayMs: count.default(defaultRetryPolicy.maxDelayMs).meta({
        description:
          "Longest wait before a retry, in milliseconds; if the provider asks for a longer wait, the request fails.",
      }),
      silenceMs: count.default(defaultRetryPolicy.silenceMs).meta({
        description:
          "Longest silence during an answer, in milliseconds, before the request fails; 0 waits forever.",
      }),
    })
    .prefault({}),
  limits: z
    .strictObject({
      runRequests: count.default(200).meta({
        description: "Requests to the model before the agent asks you whether to continue; 0 sets no limit.",
      }),
    })
    .prefault({}),
  cache: z
    .strictObject({
      keepWarm: z
        .strictObject({
          enabled: z.boolean().default(false).meta({
            description:
              "While you pause, read the provider's cache before it expires, if that costs less than a rewrite.",
          }),
          maxMinutes: count
            .default(30)
            .meta({ description: "Maximum minutes of a pause in which the cache is kept warm." }),
          maxUsd: z
            .number()
            .min(0)
            .default(0.5)
            .meta({ description: "Maximum cost of keeping the cache warm in one pause, in US dollars." }),
        })
        .prefault({}),
    })
    .prefault({}),
  titles: z.boolean().default(true).meta({ description: "Name sessions after the first answer." }),
  index: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .meta({ description: "Index all sessions for full-text search in ~/.bonsai/index." }),
    })
    .prefault({}),
  recall: z
    .strictObject({
      enabled: z.boolean().default(true).meta({
        description: "Let the model search entries that a compaction or a mask removed from its context.",
      }),
      sessions: z
        .boolean()
        .default(false)
        .meta({ description: "Let the model also search other sessions of the same folder." }),
    })
    .prefault({}),
  sessions: z
    .strictObject({
      store: z.string().default("files").meta({
        description:
          'Where sessions are kept: "files", the URL of a PostgreSQL database, or "env:NAME" with it.',
      }),
      summaries: z.enum(["here", "workers"]).default("here").meta({
        description:
          'Where summaries of shared sessions are made: "here", or by "workers" if one begins within 5 seconds.',
      }),
    })
    .prefault({}),
  theme: z
    .string()
    .regex(/^[^/]+(\/[^/]+)?$/, '"auto", a theme\'s name, or two names as "light/dark"')
    .default("auto")
    .meta({
      description: 'Theme by name; "auto" follows the terminal background, "light/dark" names one for each.',
    }),
  editor: z.string().min(1).optional().meta({
    description: "Command of your editor for long prompts, such as code --wait; default: $VISUAL or $EDITOR.",
  }),
  instructionFiles: names.default(["AGENTS.md", "CLAUDE.md"]).meta({
    description: "Names of instruction files; Bonsai uses the first that exists in each folder.",
  }),
  $schema: z.string().optional().meta({ description: "The JSON Schema of this file, for your editor." }),
});

/** The agent's settings, with every default filled in. */
export type AgentSettings = Omit<z.output<typeof settingsObject>, "compaction"> & {
  compaction: CompactionSettings;
};
/** The settings as a user writes them; every key is optional. */
export type AgentSettingsInput = z.input<typeof settingsObject>;

/** Validates the settings of an agent; their JSON Schema is published from it. */
export const agentSettingsSchema: z.ZodType<
  z.output<typeof settingsObject>,
  AgentSettingsInput
> = settingsObject;

/**
 * Fills in the settings: the user's values over the defaults, with the preset between them for `compaction`.
 * @param policy overrides fields of the compaction preset's policy
 * @throws BonsaiError `setting_invalid` and, for the `compaction` part, `compaction_setting_invalid`: each names the
 *   key, the value and the allowed values.
 */
export function agentSettings(input: unknown = {}, policy?: Partial<CompactionPolicy>): AgentSettings {
  const compaction = compactionSettings(isRecord(input) ? input.compaction : undefined, policy);
  const settings = parseSettings(settingsObject, input, {
    error: (problem) =>
      new BonsaiError({
        /** A setting has a wrong value or an unknown key. The message names both. */
        code: "setting_invalid",
        ...problem,
      }),
  });
  return { ...settings, compaction };
}
