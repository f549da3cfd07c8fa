import type { ResponseCreateParamsStreaming } from "openai/resources/responses/responses";
import {
  type CatalogueModel,
  type Effort,
  isAtHost,
  type ModelCompat,
  type ThinkingLevel,
  thinkingLevels,
  effortWords as words,
} from "../model.ts";
import type { CallIds } from "../wire/fields.ts";

/** Efforts by thinking level, for models with a matching id. */
type ThinkingWords = readonly [models: RegExp, efforts: Readonly<Record<ThinkingLevel, Effort | undefined>>];

/**
 * Spreads the words that a model knows over the levels. Each level gets the lowest word that is not below it, else the
 * highest. "off" gets the lowest word of a model that always thinks.
 */
function spreadOverLevels(...known: readonly [Effort, ...Effort[]]): ThinkingWords[1] {
  const pick = (level: ThinkingLevel): Effort => {
    const rank = words.indexOf(level === "off" ? "none" : level);
    return known.find((word) => words.indexOf(word) >= rank) ?? (known.at(-1) as Effort);
  };
  return Object.fromEntries(thinkingLevels.map((level) => [level, pick(level)])) as ThinkingWords[1];
}

/** The dialect of a server with OpenAI's protocols. */
export interface OpenAiServer {
  maxTokensField: "max_tokens" | "max_completion_tokens";
  systemRole: "system" | "developer";
  /** Accepts `stream_options`. The others send a usage anyway. */
  takesStreamOptions: boolean;
  /** Accepts `prompt_cache_key`. */
  takesCacheKey: boolean;
  /** Accepts a user message directly after tool results. */
  takesUserAfterResults: boolean;
  /** Calls one tool at a time unless `parallel_tool_calls` is sent. */
  asksForParallelCalls: boolean;
  /** Accepts images in tool results. Responses only: Chat Completions accepts none. */
  takesImagesInResults: boolean;
  /** The accepted ids of tool calls. Others are replaced. */
  callId: CallIds;
  /** The efforts of models. The first row with a matching id counts. */
  efforts: readonly ThinkingWords[];
  /** The field of the effort. Default: `reasoning_effort`. */
  effortField?: "reasoning" | undefined;
  /** Ids of models with the switch `thinking: {type}`. */
  thinkingSwitch?: RegExp | undefined;
  /** Ids of models with the switch `reasoning: {enabled}`. */
  reasoningSwitch?: RegExp | undefined;
  /** The field for the model's own earlier thinking. */
  wantsThinking?: "reasoning_content" | "reasoning_details" | undefined;
  /** Replaces missing thinking for servers that refuse a message without. */
  thinkingPlaceholder?: string;
  /** The signature for calls of other models, for models that refuse a call without one. */
  foreignSignature?: { models: RegExp; signature: string };
}

/** The dialect of servers that are not in the table. */
const unknownServer: OpenAiServer = {
  maxTokensField: "max_tokens",
  systemRole: "system",
  takesStreamOptions: true,
  takesCacheKey: false,
  takesUserAfterResults: true,
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
  efforts: [
    [/^o\d/, spreadOverLevels("low", "medium", "high")],
    [/^gpt-5-pro/, spreadOverLevels("high")],
    [/^gpt-(5\.[2-9]|[6-9]).*-pro/, spreadOverLevels("medium", "high", "xhigh")],
    [/^gpt-5(\.1)?-codex(?!-max)/, spreadOverLevels("low", "medium", "high")],
    [/^gpt-[5-9].*-codex/, spreadOverLevels("low", "medium", "high", "xhigh")],
    [/^gpt-5(-mini|-nano)?(-\d{4}|$)/, spreadOverLevels("minimal", "low", "medium", "high")],
    [/^gpt-5\.1/, spreadOverLevels("none", "low", "medium", "high")],
    [/^gpt-(5\.[2-9]|[6-9])/, spreadOverLevels("none", "low", "medium", "high", "xhigh")],
  ],
};

/** Known servers by the provider's name or the host of its base URL (or a subdomain). */
const table: readonly (Partial<OpenAiServer> & { names: readonly string[]; hosts: readonly string[] })[] = [
  {
    names: ["openai", "azure-openai"],
    hosts: ["api.openai.com", "openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"],
    ...openAi,
  },
  {
    names: ["deepseek"],
    hosts: ["deepseek.com"],
    efforts: [[/./, spreadOverLevels("high", "max")]],
    thinkingSwitch: /./,
    wantsThinking: "reasoning_content",
    thinkingPlaceholder: ".",
  },
  {
    names: ["moonshotai", "moonshot", "kimi"],
    hosts: ["moonshot.ai", "moonshot.cn", "kimi.com"],
    thinkingSwitch: /^kimi-k2\.[56]/,
    wantsThinking: "reasoning_content",
    thinkingPlaceholder: ".",
  },
  {
    names: ["zai", "z.ai", "zhipu"],
    hosts: ["z.ai", "bigmodel.cn"],
    thinkingSwitch: /^glm-/,
    wantsThinking: "reasoning_content",
  },
  {
    names: ["google", "gemini"],
    hosts: ["generativelanguage.googleapis.com"],
    efforts: [
      [/^gemini-3-pro/, spreadOverLevels("low", "high")],
      [/^gemini-2\.5-flash/, spreadOverLevels("none", "low", "medium", "high")],
      [/^gemini-/, spreadOverLevels("low", "medium", "high")],
    ],
    foreignSignature: {
      models: /^gemini-([3-9]|\w+-latest)/,
      signature: "skip_thought_signature_validator",
    },
  },
  {
    names: ["mistral"],
    hosts: ["mistral.ai"],
    // Refuses unknown fields, such as `stream_options`.
    takesStreamOptions: false,
    takesUserAfterResults: false,
    callId: { pattern: /^[A-Za-z0-9]{9}$/, madeChars: 9 },
    efforts: [[/^mistral-(small|medium)/, spreadOverLevels("none", "high")]],
  },
  {
    names: ["groq"],
    hosts: ["groq.com"],
    maxTokensField: "max_completion_tokens",
    efforts: [
      [/gpt-oss/, spreadOverLevels("low", "medium", "high")],
      [/qwen/, spreadOverLevels("none", "default")],
    ],
  },
  {
    names: ["xai"],
    hosts: ["x.ai"],
    maxTokensField: "max_completion_tokens",
    // The other models think too, but refuse the field.
    efforts: [
      [/^grok-3-mini/, spreadOverLevels("low", "high")],
      [/^grok-4\.(3|20-multi-agent)/, spreadOverLevels("low", "medium", "high")],
    ],
  },
  {
    names: ["openrouter"],
    hosts: ["openrouter.ai"],
    effortField: "reasoning",
    efforts: [[/./, spreadOverLevels("minimal", "low", "medium", "high", "xhigh")]],
    wantsThinking: "reasoning_details",
  },
  {
    names: ["cerebras"],
    hosts: ["cerebras.ai"],
    maxTokensField: "max_completion_tokens",
    efforts: [
      [/gpt-oss/, spreadOverLevels("low", "medium", "high")],
      [/qwen-3/, spreadOverLevels("none", "low", "medium", "high")],
    ],
  },
  {
    // The efforts of each model come from lists of models. Its guide only documents the field. Untested.
    names: ["fireworks"],
    hosts: ["fireworks.ai"],
    efforts: [
      [/gpt-oss/, spreadOverLevels("low", "medium", "high")],
      [/glm-5p3|kimi-k3/, spreadOverLevels("low", "high", "max")],
      [/deepseek-v4p1/, spreadOverLevels("none", "low", "high", "max")],
      [/qwen3p8/, spreadOverLevels("none", "low", "medium", "xhigh")],
      [/minimax-m3p1/, spreadOverLevels("low", "medium", "high", "xhigh")],
    ],
    wantsThinking: "reasoning_content",
  },
  {
    // Hybrid models have a switch, some an effort, the others always think. No document of Together confirms it.
    names: ["together"],
    hosts: ["together.ai", "together.xyz"],
    efforts: [
      [/gpt-oss/, spreadOverLevels("low", "medium", "high")],
      [/DeepSeek-V4-Pro/, spreadOverLevels("high")],
    ],
    reasoningSwitch: /^(?!.*(?:gpt-oss|MiniMax-M2))/,
  },
  {
    // The efforts come from lists of models. No document of Baseten confirms them.
    names: ["baseten"],
    hosts: ["baseten.co"],
    efforts: [
      [/GLM-5\.3/, spreadOverLevels("low", "high", "max")],
      [/DeepSeek-V4-|DeepSeek-V4\.1.*1017/, spreadOverLevels("none", "low", "high", "max")],
      [/DeepSeek-V4\.1|GLM-5\.2/, spreadOverLevels("none", "high", "max")],
      [/Kimi-K3$/, spreadOverLevels("none", "low", "high", "max")],
      [/gpt-oss/, spreadOverLevels("none", "minimal", "low", "medium", "high", "xhigh")],
    ],
  },
  {
    // Hugging Face passes the field on. The efforts are those of the models. No document of its own confirms them.
    names: ["huggingface"],
    hosts: ["huggingface.co"],
    efforts: [
      [/gpt-oss/, spreadOverLevels("low", "medium", "high")],
      [/GLM-5\.3|Kimi-K3/, spreadOverLevels("low", "high", "max")],
      [/DeepSeek-V4\.1-Flash$/, spreadOverLevels("none", "low", "high", "xhigh")],
      [/Qwen3\.8/, spreadOverLevels("low", "medium", "xhigh")],
      [/MiniMax-M3\.1/, spreadOverLevels("low", "medium", "high", "xhigh")],
    ],
  },
  {
    // By its reference of Chat Completions: as OpenRouter, with thinking in details.
    names: ["vercel-ai-gateway"],
    hosts: ["ai-gateway.vercel.sh"],
    effortField: "reasoning",
    efforts: [[/./, spreadOverLevels("minimal", "low", "medium", "high", "xhigh")]],
    wantsThinking: "reasoning_details",
  },
  {
    names: ["meta"],
    hosts: ["api.meta.ai"],
    efforts: [[/^muse-/, spreadOverLevels("minimal", "low", "medium", "high", "xhigh")]],
  },
  {
    names: ["xiaomi"],
    hosts: ["xiaomimimo.com"],
    thinkingSwitch: /^mimo-/,
    wantsThinking: "reasoning_content",
  },
  {
    // By its guide to the Compatibility API: two efforts, and no `stream_options`.
    names: ["cohere"],
    hosts: ["cohere.ai", "cohere.com"],
    takesStreamOptions: false,
    efforts: [[/reasoning/, spreadOverLevels("none", "high")]],
  },
  {
    // No document of Ollama confirms that every model accepts all four.
    names: ["ollama-cloud"],
    hosts: ["ollama.com"],
    efforts: [[/./, spreadOverLevels("none", "low", "medium", "high")]],
  },
  { names: ["llama.cpp", "llamacpp", "llama-server"], hosts: [], asksForParallelCalls: true },
];

/**
 * Mistral's families of models. On every server, their templates refuse a user message directly after tool results:
 * "Unexpected role 'user' after role 'tool'". Users of several agents report it (2024 to 2026).
 */
const MISTRAL_FAMILIES = /stral|xtral/i;

export function openAiServer({
  provider,
  id,
  baseUrl,
  compat = {},
}: Pick<CatalogueModel, "provider" | "id" | "baseUrl" | "compat">): OpenAiServer {
  const byHost = table.find(({ hosts }) => hosts.some((host) => isAtHost(baseUrl, host)));
  // The host counts first: the name may be the user's own for a proxy.
  const row = byHost ?? table.find(({ names }) => names.includes(provider.toLowerCase()));
  const ofModel = MISTRAL_FAMILIES.test(id) ? { takesUserAfterResults: false } : {};
  return withCompat({ ...unknownServer, ...row, ...ofModel }, compat);
}

/** The user's settings count before the table. */
function withCompat(server: OpenAiServer, compat: ModelCompat): OpenAiServer {
  const { thinking, efforts: known, thinkingBack, maxTokensField, streamOptions, userAfterResults } = compat;
  const own: readonly ThinkingWords[] = [[/./, ownEfforts(known)]];
  return {
    ...server,
    ...(known !== undefined && { efforts: own }),
    ...(thinking !== undefined && {
      efforts: thinking === "reasoning" || thinking === "reasoning_effort" ? own : [],
      effortField: thinking === "reasoning" ? thinking : undefined,
      thinkingSwitch: thinking === "switch" ? /./ : undefined,
      reasoningSwitch: undefined,
    }),
    ...(thinkingBack === "reasoning_content" && { thinkingPlaceholder: server.thinkingPlaceholder ?? "." }),
    ...(thinkingBack !== undefined && { wantsThinking: thinkingBack === "none" ? undefined : thinkingBack }),
    ...(maxTokensField !== undefined && { maxTokensField }),
    ...(streamOptions !== undefined && { takesStreamOptions: streamOptions }),
    ...(userAfterResults !== undefined && { takesUserAfterResults: userAfterResults }),
  };
}

/** Without known efforts, uses those of every model, and sends nothing for "off". */
function ownEfforts([lowest, ...more]: readonly Effort[] = []): ThinkingWords[1] {
  return lowest === undefined
    ? { ...spreadOverLevels("low", "medium", "high"), off: undefined }
    : spreadOverLevels(lowest, ...more);
}

/** The fields of Chat Completions for thinking. */
export interface ChatThinking {
  thinking?: { type: "disabled" | "enabled" };
  reasoning?: { effort: Effort } | { enabled: boolean };
  reasoning_effort?: Effort;
}

/** The thinking fields for a model's server; empty if it has none. */
export function chatThinking(model: CatalogueModel, level: ThinkingLevel): ChatThinking {
  if (!model.reasoning) return {};
  const server = openAiServer(model);
  const isSwitched = server.thinkingSwitch?.test(model.id) ?? false;
  const switched: ChatThinking = isSwitched
    ? { thinking: { type: level === "off" ? "disabled" : "enabled" } }
    : {};
  const effort = effortOf(server, model.id, level);
  const isEnabled = { enabled: level !== "off" };
  if (server.reasoningSwitch?.test(model.id))
    return { reasoning: isEnabled, ...(isEnabled.enabled && effort && { reasoning_effort: effort }) };
  if (effort === undefined || (level === "off" && isSwitched)) return switched;
  if (server.effortField === "reasoning") return level === "off" ? {} : { reasoning: { effort } };
  return { ...switched, reasoning_effort: effort };
}

type ResponsesThinking = Pick<ResponseCreateParamsStreaming, "include" | "reasoning">;

/** The same for the Responses API. Models without thinking refuse `include`. */
export function responsesThinking(model: CatalogueModel, level: ThinkingLevel): ResponsesThinking {
  if (!model.reasoning) return {};
  const effort =
    effortOf(openAiServer(model), model.id, level) ?? (level === "off" ? undefined : fallback(level));
  const include = { include: ["reasoning.encrypted_content" as const] };
  if (effort === undefined) return include;
  if (effort === "none") return { ...include, reasoning: { effort } };
  return { ...include, reasoning: { effort: effort === "default" ? "medium" : effort, summary: "auto" } };
}

function effortOf({ efforts }: OpenAiServer, modelId: string, level: ThinkingLevel): Effort | undefined {
  return efforts.find(([models]) => models.test(modelId))?.[1][level];
}

/** The efforts of every thinking model. */
function fallback(level: Exclude<ThinkingLevel, "off">): "low" | "medium" | "high" {
  if (level === "minimal") return "low";
  return level === "xhigh" ? "high" : level;
}
