import type { AgentNotice } from "@bonsai-agent/agent";
import type { AppContext } from "../../call/app-context.ts";
import { shownPath } from "../../call/paths.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { askPick } from "../panels/ask.ts";
import type { PickRow } from "../panels/pick-list.ts";
import type { ThemeControl } from "../terminal/theme-control.ts";

/** Reads the theme files again. Problems are notified, unless extensions may still add themes. */
export async function readThemes(
  { resources }: AppContext,
  { themes, notify }: InteractiveContext,
  { mayGrow = false }: { mayGrow?: boolean } = {},
): Promise<void> {
  const onNotice = mayGrow ? undefined : ({ message, level }: AgentNotice) => notify(message, level);
  await themes.read(await resources.places("themes"), onNotice);
}

/** The names that can be chosen, with the current choice. */
export function themeChoices(themes: ThemeControl): string[] {
  const names = ["auto", ...themes.all.map(({ name }) => name)];
  return [...new Set(themes.has(themes.choice) ? [...names, themes.choice] : names)];
}

/** Lets the user choose a theme. The whole screen previews the selected one. Returns undefined if the user left the list. */
export async function pickTheme({ screen, themes }: InteractiveContext): Promise<string | undefined> {
  try {
    return await askPick<string>(screen, {
      title: "Theme",
      items: themeChoices(themes),
      selected: themes.choice,
      row: (choice) => themeRow(choice, themes),
      onSelect: (choice) => themes.preview(choice),
      picks: "keep",
    });
  } finally {
    themes.preview(undefined);
  }
}

function themeRow(choice: string, themes: ThemeControl): PickRow {
  const theme = themes.get(choice);
  const mark = choice === themes.choice ? "●" : undefined;
  if (theme === undefined) return { label: choice, detail: "follows the terminal's background", mark };
  const from = theme.path === undefined ? "built in" : shownPath(theme.path, theme.path);
  return { label: choice, detail: `${theme.appearance} · ${from}`, mark };
}
