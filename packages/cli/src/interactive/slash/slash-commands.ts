import type { SlashCommand } from "./slash-command.ts";

const quit: SlashCommand = {
  name: "quit",
  description: "End bonsai",
  worksWhileBusy: true,
  run: (_args, work) => work.quit(),
};

/** Every command of the interactive mode, in the order of /help. The only list of them. */
export const slashCommands: readonly SlashCommand[] = [quit];

/** The command that a text is, with what stands behind its name. */
export function slashCommandOf(text: string): { command: SlashCommand; args: string } | undefined {
  const [, name, args = ""] = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  const command = slashCommands.find((each) => each.name === name);
  return command === undefined ? undefined : { command, args: args.trim() };
}
