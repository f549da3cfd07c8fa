import type { SlashCommand } from "../interactive-context.ts";
import { openBrowserView } from "./browser-view.ts";
import { demoCommand } from "./demo.ts";
import { removeLogin } from "./login.ts";
import { modelCommand } from "./model-commands.ts";
import { forkWholeSession, resumeCommand, treeCommand } from "./session-commands.ts";
import { settingsCommand } from "./settings-commands.ts";
import { showSummarySources } from "./summary-sources.ts";
import { setTheme } from "./theme.ts";
import { setThinking } from "./thinking-command.ts";

/** Former names that still work. No help, completion or document lists them. */
export const hiddenCommands: readonly Omit<SlashCommand, "description">[] = [
  { ...treeCommand, name: "label" },
  { name: "clone", run: (_args, context) => forkWholeSession(context) },
  { ...resumeCommand, name: "import" },
  { name: "sources", worksWhileBusy: true, run: (_args, context) => showSummarySources(context) },
  { name: "view", worksWhileBusy: true, run: (_args, context) => openBrowserView(context) },
  {
    name: "thinking",
    worksWhileBusy: true,
    run: (args, context) =>
      args === "" ? settingsCommand.run("thinking", context) : setThinking(args, context),
  },
  {
    name: "theme",
    worksWhileBusy: true,
    run: (args, context) => (args === "" ? settingsCommand.run("theme", context) : setTheme(args, context)),
  },
  { name: "scoped-models", run: (_args, context) => modelCommand.run("", context) },
  { name: "logout", worksWhileBusy: true, run: removeLogin },
  demoCommand,
];
