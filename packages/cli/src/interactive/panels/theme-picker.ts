import { shownPath } from "../../call/paths.ts";
import type { Screen } from "../terminal/screen.ts";
import type { ThemeControl } from "../terminal/theme-control.ts";
import { askPick } from "./ask.ts";
import type { PickRow } from "./pick-list.ts";

/** What can be chosen by one word, and what is chosen now. */
export function themeChoices(themes: ThemeControl): string[] {
  const names = ["auto", ...themes.all.map(({ name }) => name)];
  return [...new Set(themes.has(themes.choice) ? [...names, themes.choice] : names)];
}

/** Lets the user choose a theme; the whole screen shows the one that is selected. @returns undefined where the user left it */
export async function pickTheme({
  screen,
  themes,
}: {
  screen: Screen;
  themes: ThemeControl;
}): Promise<string | undefined> {
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
