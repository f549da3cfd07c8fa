import type { ProviderStreamRequest } from "@bonsai-agent/extension";
import { anthropicThinking } from "@bonsai-agent/extension/providers";

interface ThinkingOptions {
  model: ProviderStreamRequest["model"];
  level: NonNullable<ProviderStreamRequest["thinking"]>;
  maxOutputTokens: number | undefined;
  isTurnWithoutThinking: boolean;
}

/** Differences between the vendors' models on Bedrock. */
export interface BedrockFamily {
  name: "claude" | "nova" | "gpt" | "gpt-oss" | "other";
  /** The places for a cache point, as AWS documents them by model. */
  caches: readonly ("tools" | "system" | "messages")[];
  /** True if its thinking needs a signature. */
  isSigned: boolean;
  /** Additional fields of a request for the thinking level. */
  thinking(options: ThinkingOptions): object;
  /** True if such fields forbid `maxTokens`. */
  isUncapped(fields: object): boolean;
}

const other: BedrockFamily = {
  name: "other",
  caches: [],
  isSigned: false,
  thinking: () => ({}),
  isUncapped: () => false,
};

/** Levels of every effort scale. */
function effort(level: ThinkingOptions["level"]): "low" | "medium" | "high" {
  return level === "medium" || level === "high" ? level : level === "xhigh" ? "high" : "low";
}

const families: readonly (readonly [ids: RegExp, family: BedrockFamily])[] = [
  [
    /claude/,
    {
      ...other,
      name: "claude",
      caches: ["tools", "system", "messages"],
      isSigned: true,
      thinking: ({ maxOutputTokens = 32_000, ...options }) =>
        anthropicThinking({ ...options, maxOutputTokens }),
    },
  ],
  [
    /\bnova-2-/,
    {
      ...other,
      name: "nova",
      caches: ["system", "messages"],
      thinking: ({ level }) =>
        level === "off" ? {} : { reasoningConfig: { type: "enabled", maxReasoningEffort: effort(level) } },
      // The guide of Nova 2: with the highest effort no `maxTokens` may be set.
      isUncapped: (fields) => JSON.stringify(fields).includes('"high"'),
    },
  ],
  [/\bnova-/, { ...other, name: "nova", caches: ["system", "messages"] }],
  [
    /openai\.gpt-oss/,
    {
      ...other,
      name: "gpt-oss",
      thinking: ({ level }) => ({ reasoning_effort: effort(level) }),
    },
  ],
  [
    /openai\.gpt-/,
    {
      ...other,
      name: "gpt",
      // The other models of OpenAI refuse `reasoning_effort`, and `minimal`; one that always thinks refuses `none`.
      thinking: ({ level, model }) => ({
        reasoning: {
          effort:
            level === "xhigh" ? level : level === "off" && !/astra/.test(model.id) ? "none" : effort(level),
        },
      }),
    },
  ],
];

/** The family of an id, also of an inference profile: `us.anthropic.claude-…`. An ARN without a model is unknown. */
export function familyOf(modelId: string): BedrockFamily {
  return families.find(([ids]) => ids.test(modelId))?.[1] ?? other;
}
