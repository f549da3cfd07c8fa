import { ReportPanel } from "../compaction/report-panel.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { keybindingsFile } from "../keys/keybindings-file.ts";
import { helpLines } from "../prompt/help-lines.ts";
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
  await screen.show<void>(
    (done) =>
      new ReportPanel({
        screen,
        lines: (width) =>
          helpLines(
            {
              commands,
              moreCommands: extensions.commands,
              shortcuts: extensions.shortcuts,
              keysFile: keybindingsFile(home),
            },
            width,
          ),
        leave: () => done(undefined),
      }),
  );
}
