import {
  askedThinking,
  type CatalogueModel,
  nextThinkingLevel,
  referenceOf,
  type ThinkingLevel,
  thinkingLevels,
  thinkingLevelsOf,
} from "@bonsai-agent/models";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { askChoice } from "../panels/ask.ts";
import type { Screen } from "../terminal/screen.ts";

export const thinkingCommand: SlashCommand = {
  name: "thinking",
  description: "How much the model thinks before it answers",
  argumentHint: "[level]",
  worksWhileBusy: true,
  complete: (prefix, { host }) =>
    levelsToOffer(host.agent.model)
      .filter((level) => level.startsWith(prefix.trim()))
      .map((level) => ({ value: level, label: level })),
  async run(args, { host, screen, notify }) {
    const level = args === "" ? await askLevel(host, screen) : thinkingLevels.find((each) => each === args);
    if (level === undefined && args !== "")
      notify(`“${args}” is no level; allowed are ${thinkingLevels.join(", ")}.`, "warning");
    if (level === undefined) return;
    await host.agent.setThinking(level);
    notify(`Thinking is ${level} from the next request on.${otherThinking(host.agent.model, level)}`);
  },
};

/** What the key does: the next level that makes a difference to the model. */
export async function nextThinking({ host, notify }: InteractiveContext): Promise<void> {
  const { thinking, model } = host.agent.state;
  const next = nextThinkingLevel(model, thinking);
  if (next === undefined) notify(onlyThinking(model));
  else await host.agent.setThinking(next);
}

function askLevel({ agent }: InteractiveContext["host"], screen: Screen): Promise<ThinkingLevel | undefined> {
  const { model, thinking } = agent.state;
  const choices = levelsToOffer(model);
  const now = askedThinking(model, thinking);
  const current = choices.find((level) => askedThinking(model, level) === now) ?? thinking;
  return askChoice(screen, { title: "How much the model thinks", choices, current });
}

/** All, where the model knows none: another one may. */
function levelsToOffer(model: CatalogueModel): readonly ThinkingLevel[] {
  const levels = thinkingLevelsOf(model);
  return levels.length === 0 ? thinkingLevels : levels;
}

/** Says what a model is asked for where that is not the level. */
function otherThinking(model: CatalogueModel, level: ThinkingLevel): string {
  const asked = askedThinking(model, level);
  if (asked === level || (asked === undefined && level === "off")) return "";
  if (asked === undefined) return ` ${onlyThinking(model)}`;
  const name = referenceOf(model);
  return asked === "on"
    ? ` ${name} knows only on and off.`
    : ` ${name} has no such level, and is asked for ${asked}.`;
}

/** Of a model that tells no difference between the levels. */
function onlyThinking(model: CatalogueModel): string {
  const [level] = thinkingLevelsOf(model);
  if (level !== undefined) return `${referenceOf(model)} always thinks in the same way.`;
  return model.reasoning
    ? `${referenceOf(model)} thinks as it sees fit: it takes no word about it.`
    : `${referenceOf(model)} does not think before it answers.`;
}
