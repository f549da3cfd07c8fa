import { anthropicThinking, levelOfAnthropic } from "./anthropic/anthropic-thinking.ts";
import {
  type CatalogueModel,
  type Effort,
  type ThinkingLevel,
  thinkingLevels,
  usualOutputCap,
} from "./model.ts";
import { type ChatThinking, chatThinking, responsesThinking } from "./openai/openai-servers.ts";

/** The effect of a level on a model: a level, or "on" if the model knows no degrees. */
export type AskedThinking = ThinkingLevel | "on";

/**
 * The effect of a level on a model, read from the request. It differs from the level if the model lacks that level, always
 * thinks, or has no room for the budget in its longest answer. Undefined if no level has an effect.
 */
export function askedThinking(model: CatalogueModel, level: ThinkingLevel): AskedThinking | undefined {
  if (!model.reasoning) return undefined;
  if (model.api === "scripted" || model.api === "extension") return level;
  return askedBy(model, "xhigh") === "off" ? undefined : askedBy(model, level);
}

/** The levels with different effects on a model, in ascending order. */
export function thinkingLevelsOf(model: CatalogueModel): readonly ThinkingLevel[] {
  const byEffect = Map.groupBy(thinkingLevels, (level) => askedThinking(model, level));
  byEffect.delete(undefined);
  return [...byEffect].map(
    ([asked, levels]) => levels.find((level) => level === asked || level === "medium") ?? levels[0]!,
  );
}

/** The next level with another effect on the model; undefined if there is none. */
export function nextThinkingLevel(model: CatalogueModel, level: ThinkingLevel): ThinkingLevel | undefined {
  const levels = thinkingLevelsOf(model);
  const asked = askedThinking(model, level);
  const at = levels.findIndex((each) => askedThinking(model, each) === asked);
  return levels.length < 2 ? undefined : levels[(at + 1) % levels.length];
}

/** Gives a thinking model without a known way of thinking the usual field of Chat Completions. */
export function withThinkingField(model: CatalogueModel): CatalogueModel {
  const { api, reasoning, compat } = model;
  if (api !== "openai-chat" || !reasoning || compat?.thinking !== undefined) return model;
  if (askedBy(model, "xhigh") !== "off") return model;
  return { ...model, compat: { ...compat, thinking: "reasoning_effort" } };
}

/** "off" if the request has no thinking fields. */
function askedBy(model: CatalogueModel, level: ThinkingLevel): AskedThinking {
  if (model.api === "anthropic-messages") {
    const maxOutputTokens = usualOutputCap(model);
    return levelOfAnthropic(
      anthropicThinking({ model, level, maxOutputTokens, isTurnWithoutThinking: false }),
    );
  }
  if (model.api === "openai-responses")
    return levelOfEffort(responsesThinking(model, level).reasoning?.effort ?? "none");
  return levelOfChat(chatThinking(model, level));
}

function levelOfChat({ thinking, reasoning, reasoning_effort }: ChatThinking): AskedThinking {
  const effort = reasoning_effort ?? (reasoning && "effort" in reasoning ? reasoning.effort : undefined);
  if (effort !== undefined) return levelOfEffort(effort);
  const isOn = thinking?.type === "enabled" || (reasoning && "enabled" in reasoning && reasoning.enabled);
  return isOn ? "on" : "off";
}

function levelOfEffort(effort: Effort): AskedThinking {
  if (effort === "none") return "off";
  if (effort === "default") return "on";
  return effort === "max" ? "xhigh" : effort;
}
