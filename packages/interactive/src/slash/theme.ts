import type { AppContext } from "@bonsai-agent/app/app-context";
import { didYouMean, fewOf } from "@bonsai-agent/app/nearest-word";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { writeSetting } from "../panels/settings-file.ts";
import { pickTheme, themeChoices } from "../panels/theme-picker.ts";
import { useSettings } from "./settings-commands.ts";

export const themeCommand: SlashCommand = {
  name: "theme",
  description: "Choose the colours; the screen shows each as you go through them",
  argumentHint: "[name]",
  worksWhileBusy: true,
  complete: (prefix, { themes }) =>
    themeChoices(themes)
      .filter((choice) => choice.startsWith(prefix.trim()))
      .map((choice) => ({ value: choice, label: choice })),
  async run(args, context) {
    const { screen, themes, notify } = context;
    const wanted = args === "" ? await pickTheme({ screen, themes }) : args;
    if (wanted === undefined) return;
    if (!themes.has(wanted)) {
      const choices = themeChoices(themes);
      notify(
        `“${wanted}” is no theme; there are ${fewOf(choices)}.${didYouMean(wanted, choices)}`,
        "warning",
      );
      return;
    }
    keepTheme(wanted, context);
  },
};

/** Writes it into the user's own settings, where it holds from then on, too. */
function keepTheme(wanted: string, context: InteractiveContext): void {
  const { host, themes, notify } = context;
  writeSetting(host.app.home, ["theme"], wanted);
  useSettings(context);
  themes.endExtension();
  const here = host.app.settings.theme;
  notify(
    here === wanted
      ? `The theme is ${wanted}.`
      : `${wanted} is saved as your theme; but here it is ${here}: the project or a flag says so.`,
  );
}

/** Reads the files of themes anew; at the start in two steps where extensions bring some. */
export async function readThemes(
  { resources }: Pick<AppContext, "resources">,
  { themes, notify }: Pick<InteractiveContext, "themes" | "notify">,
  stage?: "first" | "rest",
): Promise<void> {
  const places = await resources.places("themes");
  await themes.read(places, { onNotice: ({ message, level }) => notify(message, level), stage });
}
