import type { SlashCommand } from "./slash-command.ts";

export const quit: SlashCommand = {
  name: "quit",
  description: "End bonsai",
  worksWhileBusy: true,
  run: (_args, work) => work.quit(),
};
