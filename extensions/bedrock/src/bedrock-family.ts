import type { ProviderStreamRequest } from "@bonsai-agent/extension";
import { anthropicThinking } from "@bonsai-agent/extension/providers";

interface ThinkingOptions {
  model: ProviderStreamRequest["model"];
  level: NonNullable<ProviderStreamRequest["thinking"]>;
  maxOutputTokens: number | undefined;
  isTurnWithoutThinking: boolean;
}

/** Where the models of one vendor differ from the others on Bedrock. */
export interface BedrockFamily {
  name: "claude" | "nova" | "gpt" | "gpt-oss" | "other";
  /** Where a cache point is taken, as AWS documents it by model. */
  caches: readonly ("tools" | "system" | "messages")[];
  /** Its thinking carries a signature, and is refused without. */
  isSigned: boolean;
  /** The fields beside Converse's own that say how much to think. */
  thinking(options: ThinkingOptions): object;
  /** True where such fields forbid a cap of the answer. */
  isUncapped(fields: object): boolean;
}

const other: BedrockFamily = {
  name: "other",
  caches: [],
  isSigned: false,
  thinking: () => ({}),
  isUncapped: () => false,
};

/** What every effort scale here knows. */
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

/** By the id, which may be that of an inference profile: `us.anthropic.claude-…`. An ARN that names no model is unknown. */
export function familyOf(modelId: string): BedrockFamily {
  return families.find(([ids]) => ids.test(modelId))?.[1] ?? other;
}
