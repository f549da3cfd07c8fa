import { anthropicThinking, levelOfAnthropic } from "./anthropic/anthropic-thinking.ts";
import {
  type CatalogueModel,
  type Effort,
  type ThinkingLevel,
  thinkingLevels,
  usualOutputCap,
} from "./model.ts";
import { type ChatThinking, chatThinking, responsesThinking } from "./openai/openai-thinking.ts";

/** How much a model is asked to think: a level, or "on" where it knows no degrees. */
export type AskedThinking = ThinkingLevel | "on";

/**
 * What a model is asked for at a level, read from what is sent: another level where it lacks that one, cannot be switched
 * off, or its longest answer leaves no room for the budget. Undefined where it is told nothing at any level: it does not
 * think, or as it sees fit.
 */
export function askedThinking(model: CatalogueModel, level: ThinkingLevel): AskedThinking | undefined {
  if (!model.reasoning) return undefined;
  if (model.api === "scripted" || model.api === "extension") return level;
  return askedBy(model, "xhigh") === "off" ? undefined : askedBy(model, level);
}

/** The levels among which a model tells a difference, from the least to the most; empty where it tells none. */
export function thinkingLevelsOf(model: CatalogueModel): readonly ThinkingLevel[] {
  const byEffect = Map.groupBy(thinkingLevels, (level) => askedThinking(model, level));
  byEffect.delete(undefined);
  return [...byEffect].map(
    ([asked, levels]) => levels.find((level) => level === asked || level === "medium") ?? levels[0]!,
  );
}

/** The level after one, among those that make a difference to the model; undefined where there is no other. */
export function nextThinkingLevel(model: CatalogueModel, level: ThinkingLevel): ThinkingLevel | undefined {
  const levels = thinkingLevelsOf(model);
  const asked = askedThinking(model, level);
  const at = levels.findIndex((each) => askedThinking(model, each) === asked);
  return levels.length < 2 ? undefined : levels[(at + 1) % levels.length];
}

/**
 * A model that can think and of which nobody knows how it is told so: it gets the usual field of Chat Completions. The
 * other protocols have a word for every model.
 */
export function withThinkingField(model: CatalogueModel): CatalogueModel {
  const { api, reasoning, compat } = model;
  if (api !== "openai-chat" || !reasoning || compat?.thinking !== undefined) return model;
  if (askedBy(model, "xhigh") !== "off") return model;
  return { ...model, compat: { ...compat, thinking: "reasoning_effort" } };
}

/** "off" where nothing is sent. */
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
