import {
  type CatalogueModel,
  type Effort,
  type ModelCompat,
  type ThinkingLevel,
  thinkingLevels,
  effortWords as words,
} from "../model.ts";

/** Efforts by thinking level, for the models whose id fits. */
type EffortRow = readonly [models: RegExp, efforts: Readonly<Record<ThinkingLevel, Effort | undefined>>];

/**
 * The words that a model knows, spread over the levels: each level gets the least that is not below it, or else the
 * most there is. A model that cannot be switched off gets its least for "off".
 */
function efforts(...known: readonly [Effort, ...Effort[]]): Record<ThinkingLevel, Effort> {
  const wanted: Record<ThinkingLevel, Effort> = {
    off: "none",
    minimal: "minimal",
    low: "low",
    medium: "medium",
    high: "high",
    xhigh: "xhigh",
  };
  const pick = (level: ThinkingLevel): Effort => {
    const rank = words.indexOf(wanted[level]);
    return known.find((word) => words.indexOf(word) >= rank) ?? (known.at(-1) as Effort);
  };
  return Object.fromEntries(thinkingLevels.map((level) => [level, pick(level)])) as Record<
    ThinkingLevel,
    Effort
  >;
}

/** The word for a level, where something is known of the model. */
export function effortOf(
  rows: readonly EffortRow[],
  modelId: string,
  level: ThinkingLevel,
): Effort | undefined {
  return rows.find(([models]) => models.test(modelId))?.[1][level];
}

/** Where a server differs from the others that speak OpenAI's protocols. */
export interface OpenAiServer {
  /** How the cap of the answer is called. */
  maxTokensField: "max_tokens" | "max_completion_tokens";
  /** The role of the system prompt. */
  systemRole: "system" | "developer";
  /** Takes `stream_options`; those that do not count without being asked. */
  takesStreamOptions: boolean;
  /** Takes `prompt_cache_key`. */
  takesCacheKey: boolean;
  /** Calls one tool at a time unless `parallel_tool_calls` is sent. */
  asksForParallelCalls: boolean;
  /** Takes images in tool results (Responses only; Chat Completions takes none anywhere). */
  takesImagesInResults: boolean;
  /** Ids of tool calls that it accepts; others are replaced. */
  callId: { pattern: RegExp; madeChars: number };
  /** How much the model shall think: which words it knows, by model id; the first row that fits counts. */
  efforts: readonly EffortRow[];
  /** How that is said. Default: nothing is said. */
  effortField?: "reasoning_effort" | "reasoning";
  /** Ids of the models whose thinking is switched by `thinking: {type}`. */
  thinkingSwitch?: RegExp | undefined;
  /** Ids of the models whose thinking is switched by `reasoning: {enabled}`. */
  reasoningSwitch?: RegExp | undefined;
  /** Wants the model's own thinking back with its message. */
  wantsThinking?: "reasoning_content" | "reasoning_details" | undefined;
  /** Stands in for the thinking of a message that has none, where the server refuses a message without. */
  thinkingPlaceholder?: string;
  /** Models that refuse a call without a signature take this one for calls of other models. */
  foreignSignature?: { models: RegExp; signature: string };
}

/** What every server takes that is not in the table. */
const unknownServer: OpenAiServer = {
  maxTokensField: "max_tokens",
  systemRole: "system",
  takesStreamOptions: true,
  takesCacheKey: false,
  asksForParallelCalls: false,
  takesImagesInResults: false,
  callId: { pattern: /^[A-Za-z0-9_.:-]{1,64}$/, madeChars: 29 },
  efforts: [],
};

const openAi: Partial<OpenAiServer> = {
  maxTokensField: "max_completion_tokens",
  systemRole: "developer",
  takesCacheKey: true,
  takesImagesInResults: true,
  callId: { pattern: /^[A-Za-z0-9_-]{1,40}$/, madeChars: 29 },
  effortField: "reasoning_effort",
  efforts: [
    [/^o\d/, efforts("low", "medium", "high")],
    [/^gpt-5-pro/, efforts("high")],
    [/^gpt-(5\.[2-9]|[6-9]).*-pro/, efforts("medium", "high", "xhigh")],
    [/^gpt-5(\.1)?-codex(?!-max)/, efforts("low", "medium", "high")],
    [/^gpt-[5-9].*-codex/, efforts("low", "medium", "high", "xhigh")],
    [/^gpt-5(-mini|-nano)?(-\d{4}|$)/, efforts("minimal", "low", "medium", "high")],
    [/^gpt-5\.1/, efforts("none", "low", "medium", "high")],
    [/^gpt-(5\.[2-9]|[6-9])/, efforts("none", "low", "medium", "high", "xhigh")],
  ],
};

/** Facts, by the provider's name or the host of its base URL (the host itself, or one below it). */
const table: readonly {
  names: readonly string[];
  hosts: readonly string[];
  server: Partial<OpenAiServer>;
}[] = [
  {
    names: ["openai", "azure-openai"],
    hosts: ["api.openai.com", "openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"],
    server: openAi,
  },
  {
    names: ["deepseek"],
    hosts: ["deepseek.com"],
    server: {
      effortField: "reasoning_effort",
      efforts: [[/./, efforts("high", "max")]],
      thinkingSwitch: /./,
      wantsThinking: "reasoning_content",
      thinkingPlaceholder: ".",
    },
  },
  {
    names: ["moonshotai", "moonshot", "kimi"],
    hosts: ["moonshot.ai", "moonshot.cn", "kimi.com"],
    server: {
      thinkingSwitch: /^kimi-k2\.[56]/,
      wantsThinking: "reasoning_content",
      thinkingPlaceholder: ".",
    },
  },
  {
    names: ["zai", "z.ai", "zhipu"],
    hosts: ["z.ai", "bigmodel.cn"],
    server: { thinkingSwitch: /^glm-/, wantsThinking: "reasoning_content" },
  },
  {
    names: ["google", "gemini"],
    hosts: ["generativelanguage.googleapis.com"],
    server: {
      effortField: "reasoning_effort",
      efforts: [
        [/^gemini-3-pro/, efforts("low", "high")],
        [/^gemini-2\.5-flash/, efforts("none", "low", "medium", "high")],
        [/^gemini-/, efforts("low", "medium", "high")],
      ],
      foreignSignature: {
        models: /^gemini-([3-9]|\w+-latest)/,
        signature: "skip_thought_signature_validator",
      },
    },
  },
  {
    names: ["mistral"],
    hosts: ["mistral.ai"],
    server: {
      // Refuses every field that it does not know, `stream_options` among them.
      takesStreamOptions: false,
      callId: { pattern: /^[A-Za-z0-9]{9}$/, madeChars: 9 },
      effortField: "reasoning_effort",
      efforts: [[/^mistral-(small|medium)/, efforts("none", "high")]],
    },
  },
  {
    names: ["groq"],
    hosts: ["groq.com"],
    server: {
      maxTokensField: "max_completion_tokens",
      effortField: "reasoning_effort",
      efforts: [
        [/gpt-oss/, efforts("low", "medium", "high")],
        [/qwen/, efforts("none", "default")],
      ],
    },
  },
  {
    names: ["xai"],
    hosts: ["x.ai"],
    server: {
      maxTokensField: "max_completion_tokens",
      effortField: "reasoning_effort",
      // Its other models think too, and refuse the field.
      efforts: [
        [/^grok-3-mini/, efforts("low", "high")],
        [/^grok-4\.(3|20-multi-agent)/, efforts("low", "medium", "high")],
      ],
    },
  },
  {
    names: ["openrouter"],
    hosts: ["openrouter.ai"],
    server: {
      effortField: "reasoning",
      efforts: [[/./, efforts("minimal", "low", "medium", "high", "xhigh")]],
      wantsThinking: "reasoning_details",
    },
  },
  {
    names: ["cerebras"],
    hosts: ["cerebras.ai"],
    server: {
      maxTokensField: "max_completion_tokens",
      effortField: "reasoning_effort",
      efforts: [
        [/gpt-oss/, efforts("low", "medium", "high")],
        [/qwen-3/, efforts("none", "low", "medium", "high")],
      ],
    },
  },
  {
    // Its guide to reasoning has the field and `reasoning_content`; which words each model knows is of lists of models, not
    // of the guide, and was tried with none.
    names: ["fireworks"],
    hosts: ["fireworks.ai"],
    server: {
      effortField: "reasoning_effort",
      efforts: [
        [/gpt-oss/, efforts("low", "medium", "high")],
        [/glm-5p3|kimi-k3/, efforts("low", "high", "max")],
        [/deepseek-v4p1/, efforts("none", "low", "high", "max")],
        [/qwen3p8/, efforts("none", "low", "medium", "xhigh")],
        [/minimax-m3p1/, efforts("low", "medium", "high", "xhigh")],
      ],
      wantsThinking: "reasoning_content",
    },
  },
  {
    // Hybrid models have a switch, some have an effort, the others always think: which is which is what clients of others
    // have found, not confirmed by a document of Together.
    names: ["together"],
    hosts: ["together.ai", "together.xyz"],
    server: {
      effortField: "reasoning_effort",
      efforts: [
        [/gpt-oss/, efforts("low", "medium", "high")],
        [/DeepSeek-V4-Pro/, efforts("high")],
      ],
      reasoningSwitch: /^(?!.*(?:gpt-oss|MiniMax-M2))/,
    },
  },
  {
    // The words of each model are of lists of models, not confirmed by a document of Baseten.
    names: ["baseten"],
    hosts: ["baseten.co"],
    server: {
      effortField: "reasoning_effort",
      efforts: [
        [/GLM-5\.3/, efforts("low", "high", "max")],
        [/DeepSeek-V4-|DeepSeek-V4\.1.*1017/, efforts("none", "low", "high", "max")],
        [/DeepSeek-V4\.1|GLM-5\.2/, efforts("none", "high", "max")],
        [/Kimi-K3$/, efforts("none", "low", "high", "max")],
        [/gpt-oss/, efforts("none", "minimal", "low", "medium", "high", "xhigh")],
      ],
    },
  },
  {
    // Hugging Face passes the field on; the words are those of the models, not confirmed by a document of its own.
    names: ["huggingface"],
    hosts: ["huggingface.co"],
    server: {
      effortField: "reasoning_effort",
      efforts: [
        [/gpt-oss/, efforts("low", "medium", "high")],
        [/GLM-5\.3|Kimi-K3/, efforts("low", "high", "max")],
        [/DeepSeek-V4\.1-Flash$/, efforts("none", "low", "high", "xhigh")],
        [/Qwen3\.8/, efforts("low", "medium", "xhigh")],
        [/MiniMax-M3\.1/, efforts("low", "medium", "high", "xhigh")],
      ],
    },
  },
  {
    // By its reference of Chat Completions: an object as with OpenRouter, and what was thought comes and goes in details.
    names: ["vercel-ai-gateway"],
    hosts: ["ai-gateway.vercel.sh"],
    server: {
      effortField: "reasoning",
      efforts: [[/./, efforts("minimal", "low", "medium", "high", "xhigh")]],
      wantsThinking: "reasoning_details",
    },
  },
  {
    names: ["meta"],
    hosts: ["api.meta.ai"],
    server: { efforts: [[/^muse-/, efforts("minimal", "low", "medium", "high", "xhigh")]] },
  },
  {
    names: ["xiaomi"],
    hosts: ["xiaomimimo.com"],
    server: { thinkingSwitch: /^mimo-/, wantsThinking: "reasoning_content" },
  },
  {
    // By its guide to the Compatibility API: two efforts, and a list of fields in which `stream_options` is not; clients of
    // others found that it refuses that.
    names: ["cohere"],
    hosts: ["cohere.ai", "cohere.com"],
    server: {
      takesStreamOptions: false,
      effortField: "reasoning_effort",
      efforts: [[/reasoning/, efforts("none", "high")]],
    },
  },
  {
    // That it takes these four of every model is not confirmed by its documents.
    names: ["ollama-cloud"],
    hosts: ["ollama.com"],
    server: { effortField: "reasoning_effort", efforts: [[/./, efforts("none", "low", "medium", "high")]] },
  },
  { names: ["llama.cpp", "llamacpp", "llama-server"], hosts: [], server: { asksForParallelCalls: true } },
];

/** What is known of the server of a model. */
export function openAiServer({
  provider,
  baseUrl,
  compat = {},
}: Pick<CatalogueModel, "provider" | "baseUrl" | "compat">): OpenAiServer {
  const host = hostOf(baseUrl);
  const byHost = table.find(({ hosts }) => hosts.some((known) => isHostOf(known, host)));
  // A name alone may be the user's own for a proxy, so the host is asked first.
  const row = byHost ?? table.find(({ names }) => names.includes(provider.toLowerCase()));
  return withCompat({ ...unknownServer, ...row?.server }, compat);
}

/** What the user says of a server goes before what is known of it. */
function withCompat(server: OpenAiServer, compat: ModelCompat): OpenAiServer {
  const { thinking, efforts: known, thinkingBack, maxTokensField, streamOptions } = compat;
  const own: readonly EffortRow[] = [[/./, ownEfforts(known)]];
  return {
    ...server,
    ...(known !== undefined && { efforts: own }),
    ...(thinking !== undefined && {
      efforts: thinking === "reasoning" || thinking === "reasoning_effort" ? own : [],
      effortField: thinking === "reasoning" ? "reasoning" : "reasoning_effort",
      thinkingSwitch: thinking === "switch" ? /./ : undefined,
      reasoningSwitch: undefined,
    }),
    ...(thinkingBack === "reasoning_content" && { thinkingPlaceholder: server.thinkingPlaceholder ?? "." }),
    ...(thinkingBack !== undefined && { wantsThinking: thinkingBack === "none" ? undefined : thinkingBack }),
    ...(maxTokensField !== undefined && { maxTokensField }),
    ...(streamOptions !== undefined && { takesStreamOptions: streamOptions }),
  };
}

/** Where nobody says what a model knows, it is asked for what every one knows, and for nothing when it shall not think. */
function ownEfforts([least, ...more]: readonly Effort[] = []): EffortRow[1] {
  return least === undefined
    ? { ...efforts("low", "medium", "high"), off: undefined }
    : efforts(least, ...more);
}

/** True where a base URL leads to OpenAI itself. */
export function isOpenAiHost(baseUrl: string): boolean {
  return isHostOf("api.openai.com", hostOf(baseUrl));
}

function isHostOf(known: string, host: string): boolean {
  return host === known || host.endsWith(`.${known}`);
}

function hostOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).hostname.toLowerCase() : "";
}
