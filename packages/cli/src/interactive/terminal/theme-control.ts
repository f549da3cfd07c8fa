import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AgentNotice } from "@bonsai-agent/agent";
import type { ThemeColors } from "@bonsai-agent/extension/themes";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ResourcePlace } from "../../call/resource-places.ts";
import { didYouMean, fewOf } from "../../views/nearest-word.ts";
import { builtInThemes } from "./built-in-themes.ts";
import { schemeOfBackground } from "./capabilities.ts";
import type { Screen } from "./screen.ts";
import { parseOsc11BackgroundColor } from "./tui.ts";

/** Owner of the theme in use: the previewed one, else the one an extension has set, else the user's choice. */
export class ThemeControl {
  readonly #screen: Pick<Screen, "theme" | "tui">;
  #themes = withBuiltIns([]);
  #background: "dark" | "light";
  #choice: string;
  #ofExtension: string | ThemeColors | undefined;
  #previewed: string | undefined;

  /** @param choice `auto`, a name, or `light-name/dark-name` */
  constructor(screen: Pick<Screen, "theme" | "tui">, choice: string) {
    this.#screen = screen;
    this.#background = screen.theme.now.appearance;
    this.#choice = choice;
    screen.theme.use(this.#wanted());
  }

  get choice(): string {
    return this.#choice;
  }

  get all(): readonly ThemeColors[] {
    return [...this.#themes.values()];
  }

  get(name: string): ThemeColors | undefined {
    return this.#themes.get(name);
  }

  has(choice: string): boolean {
    return namesOf(choice).every((name) => this.#themes.has(name));
  }

  /**
   * Reads the theme files again.
   * @param onNotice gets the problems. Omitted while extensions may still add themes.
   */
  async read(places: readonly ResourcePlace[], onNotice?: (notice: AgentNotice) => void): Promise<void> {
    const { themes, problems } = await readThemes(places);
    this.#themes = withBuiltIns(themes);
    this.#apply();
    for (const message of problems)
      onNotice?.({ level: "warning", code: "theme_left_out", message: `Theme file ${message}` });
    if (this.has(this.#choice)) return;
    const missing = namesOf(this.#choice).filter((name) => !this.#themes.has(name));
    const names = [...this.#themes.keys()];
    onNotice?.({
      level: "warning",
      code: "theme_missing",
      message: `There is no theme ${missing.join(" and no theme ")}. Using auto instead. Themes: ${fewOf(names)}.${didYouMean(missing[0], names)}`,
    });
  }

  /** Takes the choice of the settings. A new choice replaces the theme of an extension. */
  choose(choice: string): void {
    if (choice === this.#choice) return;
    this.#choice = choice;
    this.setOfExtension(undefined);
  }

  /** Undefined restores the user's choice. */
  setOfExtension(theme: string | ThemeColors | undefined): void {
    this.#ofExtension = theme;
    this.#use();
  }

  /** Shows another theme for now; undefined ends that. */
  preview(choice: string | undefined): void {
    this.#previewed = choice;
    this.#use();
  }

  /**
   * Asks the terminal for its background, now and whenever the terminal changes its colours. A terminal that does not
   * answer changes nothing.
   */
  followBackground(): void {
    const { theme, tui } = this.#screen;
    if (theme.mode === "none") return;
    tui.addInputListener((data) => {
      if (!data.startsWith("\x1b]11;")) return undefined;
      const background = parseOsc11BackgroundColor(data);
      if (background !== undefined) this.#background = schemeOfBackground(background);
      this.#apply();
      return { consume: true };
    });
    tui.onTerminalColorSchemeChange(() => this.#askBackground());
    tui.setTerminalColorSchemeNotifications(true);
    this.#askBackground();
  }

  #askBackground(): void {
    const { theme, tui } = this.#screen;
    if (theme.mode !== "none") tui.terminal.write("\x1b]11;?\x07");
  }

  #wanted(): ThemeColors {
    const choice = this.#previewed ?? this.#ofExtension ?? this.#choice;
    if (typeof choice === "object") return choice;
    const [light, dark = light] = namesOf(this.has(choice) ? choice : "auto");
    return this.#themes.get(this.#background === "light" ? light! : dark!)!;
  }

  #apply(): void {
    const { theme, tui } = this.#screen;
    const wanted = this.#wanted();
    if (wanted === theme.now) return;
    theme.use(wanted);
    tui.invalidate();
    tui.requestRender();
  }

  /** Applies another choice. The terminal's colours may have changed since the last answer. */
  #use(): void {
    this.#apply();
    this.#askBackground();
  }
}

/** The one theme of a choice, or the themes for a light and for a dark background. */
function namesOf(choice: string): string[] {
  return choice === "auto" ? ["light", "dark"] : choice.split("/").map((name) => name.trim());
}

/** A later theme overrides an earlier one with its name. */
function withBuiltIns(themes: readonly ThemeColors[]): ReadonlyMap<string, ThemeColors> {
  return new Map([...Object.values(builtInThemes), ...themes].map((theme) => [theme.name, theme]));
}

/** Reads the theme files of all places, in the order of the places. */
export async function readThemes(
  places: readonly ResourcePlace[],
): Promise<{ themes: ThemeColors[]; problems: string[] }> {
  const files = new Set((await Promise.all(places.map(({ path }) => themeFiles(path)))).flat());
  const themes: ThemeColors[] = [];
  const problems: string[] = [];
  if (files.size === 0) return { themes, problems };
  const { readThemeFile } = await import("./theme-file.ts");
  for (const file of files) {
    try {
      themes.push(readThemeFile(file));
    } catch (error) {
      problems.push(BonsaiError.is(error) ? `${error.message} ${error.hint}` : `${file}: ${error}`);
    }
  }
  return { themes, problems };
}

/** The theme files of a place: itself, or the files in a folder without those of its subfolders. */
async function themeFiles(place: string): Promise<string[]> {
  try {
    if (place.endsWith(".json") && (await stat(place)).isFile()) return [place];
    const names = await readdir(place);
    return names
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => join(place, name));
  } catch {
    // A place need not exist.
    return [];
  }
}
