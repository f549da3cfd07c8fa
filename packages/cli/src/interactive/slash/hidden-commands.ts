import type { SlashCommand } from "../interactive-context.ts";
import { demoCommand } from "./demo.ts";
import { removeLogin } from "./login.ts";
import { modelCommand } from "./model-commands.ts";
import { forkWholeSession, openBrowserView, resumeCommand, treeCommand } from "./session-commands.ts";
import { settingsCommand } from "./settings.ts";
import { showSummarySources } from "./summary-sources.ts";

/** Former names that still work. No help, completion or document lists them. */
export const hiddenCommands: readonly Omit<SlashCommand, "description">[] = [
  { name: "label", run: treeCommand.run },
  { name: "clone", run: (_args, context) => forkWholeSession(context) },
  { ...resumeCommand, name: "import" },
  {
    name: "sources",
    key: "sources",
    worksWhileBusy: true,
    run: (_args, context) => showSummarySources(context),
  },
  { name: "view", worksWhileBusy: true, run: (_args, context) => openBrowserView(context) },
  {
    name: "thinking",
    worksWhileBusy: true,
    run: (_args, context) => settingsCommand.run("thinking", context),
  },
  { name: "theme", worksWhileBusy: true, run: (_args, context) => settingsCommand.run("theme", context) },
  { name: "scoped-models", run: (_args, context) => modelCommand.run("", context) },
  { name: "logout", worksWhileBusy: true, run: removeLogin },
  demoCommand,
];
