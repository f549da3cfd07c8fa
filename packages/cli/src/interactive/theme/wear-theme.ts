import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Screen } from "../screen.ts";
import { askBackground } from "./follow-background.ts";
import type { ThemeChoice } from "./theme.ts";

/** Takes the theme that the settings name, at once; for `auto` the terminal is asked. */
export function wearTheme(screen: Pick<Screen, "theme" | "tui">, choice: ThemeChoice): void {
  const { theme, tui } = screen;
  if (theme.choice === choice) return;
  theme.choose(choice);
  tui.invalidate();
  tui.requestRender();
  askBackground(screen);
}

/** What the user's own file says of the theme: the first frame does not wait until all settings are read. */
export function themeAtStart(home: string): ThemeChoice {
  try {
    const { theme } = JSON.parse(readFileSync(join(home, "settings.json"), "utf8")) as { theme?: unknown };
    return theme === "dark" || theme === "light" ? theme : "auto";
  } catch {
    // No file, or one that cannot be read: whoever reads all of it says so.
    return "auto";
  }
}
