import type { AppContext } from "../../call/app-context.ts";
import { writeSetting } from "../../call/settings-file.ts";
import { didYouMean, fewOf } from "../../views/nearest-word.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { themeChoices } from "../panels/theme-picker.ts";
import { useSettings } from "./settings-commands.ts";

/** Sets the theme in the user's own settings by its name. */
export function setTheme(name: string, context: InteractiveContext): void {
  const { themes, notify } = context;
  if (themes.has(name)) {
    keepTheme(name, context);
    return;
  }
  const choices = themeChoices(themes);
  notify(`There is no theme “${name}”. Themes: ${fewOf(choices)}.${didYouMean(name, choices)}`, "warning");
}

function keepTheme(wanted: string, context: InteractiveContext): void {
  const { host, themes, notify } = context;
  writeSetting(host.app.home, ["theme"], wanted);
  useSettings(context);
  themes.endExtension();
  const here = host.app.settings.theme;
  notify(
    here === wanted
      ? `Theme: ${wanted}.`
      : `Saved ${wanted} as your theme. The project or a flag sets ${here} here.`,
  );
}

/** Reads the theme files again. The start does it in two steps if extensions add themes. */
export async function readThemes(
  { resources }: Pick<AppContext, "resources">,
  { themes, notify }: Pick<InteractiveContext, "themes" | "notify">,
  stage?: "first" | "rest",
): Promise<void> {
  const places = await resources.places("themes");
  await themes.read(places, { onNotice: ({ message, level }) => notify(message, level), stage });
}
