import { type ThinkingLevel, thinkingLevels } from "@bonsai-agent/models";
import type { InteractiveWork } from "../interactive-work.ts";
import { askPick } from "../panels/ask.ts";
import type { SlashCommand } from "./slash-command.ts";

export const thinking: SlashCommand = {
  name: "thinking",
  description: "How much the model thinks before it answers",
  argumentHint: "[level]",
  worksWhileBusy: true,
  complete: (prefix) =>
    thinkingLevels
      .filter((level) => level.startsWith(prefix.trim()))
      .map((level) => ({ value: level, label: level })),
  async run(args, work) {
    const { host, tell } = work;
    const level = args === "" ? await pickedLevel(work) : thinkingLevels.find((each) => each === args);
    if (level === undefined) {
      if (args !== "")
        tell({
          level: "warning",
          message: `“${args}” is no level; allowed are ${thinkingLevels.join(", ")}.`,
        });
      return;
    }
    await host.agent.setThinking(level);
    const { model } = host.agent;
    const idle = model.reasoning || level === "off" ? "" : ` ${model.provider}/${model.id} does not think.`;
    tell({ level: "info", message: `Thinking is ${level} from the next request on.${idle}` });
  },
};

function pickedLevel({ host, screen }: InteractiveWork): Promise<ThinkingLevel | undefined> {
  const { thinking } = host.agent.state;
  return askPick(screen, {
    title: "How much the model thinks",
    items: thinkingLevels,
    key: (level) => level,
    text: (level) => level,
    selected: thinking,
    row: (level) => ({ label: level, mark: level === thinking ? "●" : undefined }),
  });
}
