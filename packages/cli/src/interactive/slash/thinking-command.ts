import {
  type CatalogueModel,
  referenceOf,
  type ThinkingLevel,
  thinkingLevels,
  thinkingLevelsOf,
} from "@bonsai-agent/models";
import { askedThinking, nextThinkingLevel } from "@bonsai-agent/models/host";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";

/** Sets the thinking level of this session by its name. */
export async function setThinking(name: string, { host, notify }: InteractiveContext): Promise<void> {
  const level = thinkingLevels.find((each) => each === name);
  if (level === undefined)
    return notify(`“${name}” is not a thinking level. Levels: ${thinkingLevels.join(", ")}.`, "warning");
  await host.agent.setThinking(level);
  notify(`Thinking: ${level}, from the next request.${otherThinking(host.agent.model, level)}`);
}

/** Switches to the next level that the model distinguishes. */
export async function nextThinking({ host, notify }: InteractiveContext): Promise<void> {
  const { thinking, model } = host.agent.state;
  const next = nextThinkingLevel(model, thinking);
  if (next === undefined) notify(onlyThinking(model));
  else await host.agent.setThinking(next);
}

/** Tells which level the model gets, if it is another one. */
function otherThinking(model: CatalogueModel, level: ThinkingLevel): string {
  if (isNoModel(model)) return "";
  const asked = askedThinking(model, level);
  if (asked === level || (asked === undefined && level === "off")) return "";
  if (asked === undefined) return ` ${onlyThinking(model)}`;
  const name = referenceOf(model);
  return asked === "on"
    ? ` ${name} only distinguishes on and off.`
    : ` ${name} does not have this level and uses ${asked}.`;
}

/** For a model that does not distinguish levels. */
function onlyThinking(model: CatalogueModel): string {
  if (isNoModel(model)) return "No model available yet. Choose one with /model.";
  const [level] = thinkingLevelsOf(model);
  if (level !== undefined) return `${referenceOf(model)} has a single thinking level.`;
  return model.reasoning
    ? `${referenceOf(model)} decides itself how much it thinks.`
    : `${referenceOf(model)} has no thinking levels.`;
}
