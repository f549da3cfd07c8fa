import { writeSetting } from "../../call/settings-file.ts";
import { didYouMean, fewOf } from "../../views/nearest-word.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { demoCommand } from "./demo.ts";
import { removeLogin } from "./login.ts";
import { modelCommand, setThinking } from "./model-commands.ts";
import { forkWholeSession, openBrowserView, resumeCommand, treeCommand } from "./session-commands.ts";
import { settingsCommand, useSettings } from "./settings.ts";
import { showSummarySources } from "./summary-sources.ts";
import { themeChoices } from "./theme.ts";

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

/** Sets the theme in the user's own settings by its name. */
function setTheme(name: string, context: InteractiveContext): void {
  const { host, themes, notify } = context;
  if (!themes.has(name)) {
    const choices = themeChoices(themes);
    notify(`There is no theme “${name}”. Themes: ${fewOf(choices)}.${didYouMean(name, choices)}`, "warning");
    return;
  }
  writeSetting(host.app.home, ["theme"], name);
  useSettings(context);
  themes.endExtension();
  const here = host.app.settings.theme;
  notify(
    here === name
      ? `Theme: ${name}.`
      : `Saved ${name} as your theme. The project or a flag sets ${here} here.`,
  );
}
