import type {
  CacheControlEphemeral,
  MessageCreateParamsStreaming,
  OutputConfig,
  TextBlockParam,
  ThinkingConfigParam,
  Tool,
} from "@anthropic-ai/sdk/resources/messages";
import type { CatalogueModel, ThinkingLevel } from "../model.ts";
import type { ProviderCall } from "../provider.ts";
import { anthropicContext, type WireMessage } from "./anthropic-context.ts";

const breakpoint: CacheControlEphemeral = { type: "ephemeral" };

/**
 * Two of the four that the API allows: the last finds what the request before wrote, and the one before it finds it
 * too where more blocks came since than the API looks back over (20).
 */
const USER_BREAKPOINTS = 2;

/** The request as it goes over the wire. Pure. */
export function anthropicRequest(call: ProviderCall): MessageCreateParamsStreaming {
  const { model, systemPrompt, tools, maxOutputTokens, thinking: level } = call;
  const messages = anthropicContext(call.messages, model);
  const isCached = !isOneOff(call);
  const system = systemBlocks(systemPrompt, isCached);
  return {
    model: model.id,
    max_tokens: maxOutputTokens,
    stream: true,
    ...(system.length > 0 && { system }),
    ...(tools.length > 0 && { tools: wireTools(call, isCached) }),
    ...anthropicThinking({
      model,
      level,
      maxOutputTokens,
      isTurnWithoutThinking: isTurnWithoutThinking(messages),
    }),
    messages: isCached ? withBreakpoints(messages) : messages,
  };
}

/**
 * True where results are being sent for a turn whose first answer holds no thinking: another model gave it, or its
 * thinking was bound to a context that is no more.
 */
function isTurnWithoutThinking(messages: readonly WireMessage[]): boolean {
  if (!hasResults(messages.at(-1))) return false;
  const request = messages.findLastIndex((message) => message.role === "user" && !hasResults(message));
  const type = messages.slice(request + 1).find(({ role }) => role === "assistant")?.content[0]?.type;
  return type !== "thinking" && type !== "redacted_thinking";
}

function hasResults(message: WireMessage | undefined): boolean {
  return message?.content[0]?.type === "tool_result";
}

/** Nobody comes back to the prefix of a question asked once: writing it to the cache would only cost more. */
function isOneOff({ purpose, messages }: ProviderCall): boolean {
  return purpose !== "turn" && !messages.some((message) => message.role === "assistant");
}

function systemBlocks(text: string, isCached: boolean): TextBlockParam[] {
  if (text.trim() === "") return [];
  return [{ type: "text", text, ...(isCached && { cache_control: breakpoint }) }];
}

function wireTools({ model, tools }: ProviderCall, isCached: boolean): Tool[] {
  const isEager = isAnthropicHost(model.baseUrl);
  return tools.map(({ name, description, parameters }, index) => ({
    name,
    description,
    input_schema: { ...parameters, type: "object" },
    // Without it a long argument comes in one piece at its end, after minutes of silence. Other servers may refuse it.
    ...(isEager && { eager_input_streaming: true }),
    ...(isCached && index === tools.length - 1 && { cache_control: breakpoint }),
  }));
}

/** True for Anthropic's own API, whose rules need no guessing. */
export function isAnthropicHost(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && new URL(baseUrl).hostname === "api.anthropic.com";
}

/** Sets a breakpoint on the last block of each of the last user-role messages. */
function withBreakpoints(messages: readonly WireMessage[]): WireMessage[] {
  let left = USER_BREAKPOINTS;
  return messages
    .toReversed()
    .map((message) => {
      if (message.role !== "user" || left === 0) return message;
      left -= 1;
      const last = message.content.length - 1;
      const content = message.content.map((block, index) =>
        index === last ? { ...block, cache_control: breakpoint } : block,
      );
      return { role: message.role, content };
    })
    .toReversed();
}

/** The part of a request that says how much to think. */
interface AnthropicThinking {
  thinking?: ThinkingConfigParam;
  output_config?: OutputConfig;
}

interface AnthropicThinkingOptions {
  model: CatalogueModel;
  level: ThinkingLevel;
  maxOutputTokens: number;
  /** True in the middle of a turn that began without thinking: there a budget is refused. */
  isTurnWithoutThinking: boolean;
}

/** How a generation is asked to think. */
interface ThinkingStyle {
  /** "budget": a number of tokens, up to 4.5. "effort": the model decides, within an effort. */
  kind: "budget" | "effort";
  /** What is sent to switch it off; "always": it cannot be, and the least effort is asked for. */
  off: "omit" | "disabled" | "between_tools" | "always";
  /** False where the highest effort is `high` (`max` costs more than was asked for). */
  xhigh?: boolean;
}

const budgetTokens: Record<Exclude<ThinkingLevel, "off">, number> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_240,
  high: 20_480,
  xhigh: 32_000,
};

const MIN_BUDGET_TOKENS = 1_024;
/** The rest of the output cap is for the answer itself. */
const MAX_BUDGET_SHARE = 0.75;

/** Says how much to think in the way that this model understands; nothing for one that cannot think. */
export function anthropicThinking(options: AnthropicThinkingOptions): AnthropicThinking {
  const { model, level } = options;
  if (!model.reasoning) return {};
  const style = styleOf(model);
  if (style === undefined) return {};
  if (level === "off") return offThinking(style);
  return style.kind === "budget" ? budgetThinking(options) : effortThinking(style, level);
}

function offThinking({ off }: ThinkingStyle): AnthropicThinking {
  switch (off) {
    case "omit":
      return {};
    case "always":
      return { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "low" } };
    default:
      return { thinking: { type: off } };
  }
}

function budgetThinking(options: AnthropicThinkingOptions): AnthropicThinking {
  const { level, maxOutputTokens, isTurnWithoutThinking } = options;
  if (level === "off" || isTurnWithoutThinking) return {};
  const budget = Math.min(budgetTokens[level], Math.floor(maxOutputTokens * MAX_BUDGET_SHARE));
  return budget < MIN_BUDGET_TOKENS ? {} : { thinking: { type: "enabled", budget_tokens: budget } };
}

function effortThinking({ xhigh = true }: ThinkingStyle, level: ThinkingLevel): AnthropicThinking {
  // From 4.7 on the default display leaves the text out.
  return {
    thinking: { type: "adaptive", display: "summarized" },
    output_config: { effort: effort(level, xhigh) },
  };
}

function effort(level: ThinkingLevel, xhigh: boolean): "low" | "medium" | "high" | "xhigh" {
  switch (level) {
    case "medium":
    case "high":
      return level;
    case "xhigh":
      return xhigh ? "xhigh" : "high";
    default:
      return "low";
  }
}

/** What the user says of the model, else what its id tells; undefined where nothing is to be said. */
function styleOf({ id, compat: { thinking, efforts } = {} }: CatalogueModel): ThinkingStyle | undefined {
  switch (thinking) {
    case "none":
      return undefined;
    case "budget":
      return { kind: "budget", off: "omit" };
    case "adaptive":
      return { kind: "effort", off: "disabled", xhigh: efforts?.includes("xhigh") ?? false };
    default:
      return thinkingStyle(id);
  }
}

/**
 * By family and version, which stand in the id (`claude-opus-4-6`, `us.anthropic.claude-opus-4-6-v1:0`). A later
 * Claude than is known here gets what no adaptive model refuses; whatever else speaks this protocol knows budgets.
 */
function thinkingStyle(id: string): ThinkingStyle {
  const named = /claude-(?:([a-z]+)-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(id);
  if (named === null) return { kind: "budget", off: "omit" };
  const [, family = "", major = "0", minor = "0"] = named;
  const version = 100 * Number(major) + Number(minor);
  if (family === "fable" || family === "mythos") return { kind: "effort", off: "always" };
  if (version < 406) return { kind: "budget", off: "omit" };
  if (version === 406) return { kind: "effort", off: "omit", xhigh: false };
  if (version < 500) return { kind: "effort", off: "omit" };
  return { kind: "effort", off: offSince5(family, version) };
}

/** Thinking is on from 5 on unless it is switched off, and each model has its own word for that. */
function offSince5(family: string, version: number): ThinkingStyle["off"] {
  if (version < 505) return "disabled";
  if (version === 505 && family === "haiku") return "disabled";
  if (version === 505 && family === "sonnet") return "between_tools";
  return "always";
}
