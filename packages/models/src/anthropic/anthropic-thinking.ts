import type { OutputConfig, ThinkingConfigParam } from "@anthropic-ai/sdk/resources/messages";
import { type CatalogueModel, type ThinkingLevel, thinkingLevels } from "../model.ts";

interface AnthropicThinking {
  thinking?: ThinkingConfigParam;
  output_config?: OutputConfig;
}

interface AnthropicThinkingOptions {
  model: Pick<CatalogueModel, "id" | "reasoning" | "compat">;
  level: ThinkingLevel;
  maxOutputTokens: number;
  /** True in the middle of a turn that began without thinking: the API refuses a budget there. */
  isTurnWithoutThinking: boolean;
}

interface ThinkingStyle {
  /** "budget": a number of tokens, up to 4.5. "effort": the model decides, within an effort. */
  kind: "budget" | "effort";
  /** Switches thinking off. "always": asks for the lowest effort, because it cannot be switched off. */
  off: "omit" | "disabled" | "between_tools" | "always";
  /** False if the highest effort is `high`. (`max` costs more than the user wants.) */
  xhigh?: boolean;
}

const budgetTokens: Record<Exclude<ThinkingLevel, "off">, number> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_240,
  high: 20_480,
  xhigh: 24_000,
};

const MIN_BUDGET_TOKENS = 1_024;
/** Share of the output cap. The usual cap of 32,000 has room for every level. */
const MAX_BUDGET_SHARE = 0.75;

/** The thinking fields for a model; empty if it cannot think. */
export function anthropicThinking(options: AnthropicThinkingOptions): AnthropicThinking {
  const { model, level } = options;
  if (!model.reasoning) return {};
  const style = styleOf(model);
  if (style === undefined) return {};
  if (level === "off") return offThinking(style);
  return style.kind === "budget" ? budgetThinking(options) : effortThinking(style, level);
}

function offThinking({ off }: ThinkingStyle): AnthropicThinking {
  if (off === "omit") return {};
  return off === "always" ? adaptiveThinking("low") : { thinking: { type: off } };
}

function budgetThinking(options: AnthropicThinkingOptions): AnthropicThinking {
  const { level, maxOutputTokens, isTurnWithoutThinking } = options;
  if (level === "off" || isTurnWithoutThinking) return {};
  const budget = Math.min(budgetTokens[level], Math.floor(maxOutputTokens * MAX_BUDGET_SHARE));
  return budget < MIN_BUDGET_TOKENS ? {} : { thinking: { type: "enabled", budget_tokens: budget } };
}

function effortThinking({ xhigh = true }: ThinkingStyle, level: ThinkingLevel): AnthropicThinking {
  if (level === "xhigh") return adaptiveThinking(xhigh ? level : "high");
  return adaptiveThinking(level === "medium" || level === "high" ? level : "low");
}

/** From 4.7 on, the default display has no text. */
function adaptiveThinking(effort: "low" | "medium" | "high" | "xhigh"): AnthropicThinking {
  return { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort } };
}

/** The user's setting, else the style of the model's id; undefined for "none". */
function styleOf({
  id,
  compat: { thinking, efforts } = {},
}: Pick<CatalogueModel, "id" | "compat">): ThinkingStyle | undefined {
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
 * Reads family and version in the id (`claude-opus-4-6`, `us.anthropic.claude-opus-4-6-v1:0`). A later Claude gets the
 * fields that no adaptive model refuses. Other models know budgets.
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

/** From 5 on, thinking is on by default, and each model has its own word to switch it off. */
function offSince5(family: string, version: number): ThinkingStyle["off"] {
  if (version < 505) return "disabled";
  if (version === 505 && family === "haiku") return "disabled";
  if (version === 505 && family === "sonnet") return "between_tools";
  return "always";
}

/** The level of thinking fields. For a budget, the highest level that fits. */
export function levelOfAnthropic({ thinking, output_config }: AnthropicThinking): ThinkingLevel {
  const effort = output_config?.effort;
  if (effort) return effort === "max" ? "xhigh" : effort;
  if (thinking?.type !== "enabled") return "off";
  const { budget_tokens } = thinking;
  return (
    thinkingLevels.findLast((level) => level !== "off" && budgetTokens[level] <= budget_tokens) ?? "minimal"
  );
}
