import type { InteractiveWork } from "../interactive-work.ts";
import { keybindingsFile } from "../keys/keybindings-file.ts";
import { showReport } from "../panels/report-panel.ts";
import { type HelpFacts, helpLines } from "./help-lines.ts";
import type { SlashCommand } from "./slash-command.ts";

/** @param commands asked when it runs: this is one of them */
export function helpCommand(commands: () => readonly SlashCommand[]): SlashCommand {
  return {
    name: "help",
    description: "Show commands and keys",
    worksWhileBusy: true,
    run: (_args, work) => showHelp(commands(), work),
  };
}

async function showHelp(commands: readonly SlashCommand[], { host, screen }: InteractiveWork): Promise<void> {
  const { extensions, home } = host.workshop;
  const facts: HelpFacts = {
    commands,
    moreCommands: extensions.commands,
    shortcuts: extensions.shortcuts,
    keysFile: keybindingsFile(home),
  };
  await showReport(screen, (width) => helpLines(facts, width));
}
