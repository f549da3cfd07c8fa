import type { AgentNotice } from "@bonsai-agent/agent";
import type { ThemeColors } from "@bonsai-agent/extension/themes";
import type { ResourcePlace } from "../../call/resource-places.ts";
import { didYouMean, fewOf } from "../../views/nearest-word.ts";
import { builtInThemes } from "./built-in-themes.ts";
import { schemeOfBackground } from "./capabilities.ts";
import { findThemes } from "./find-themes.ts";
import type { Screen } from "./screen.ts";
import { parseOsc11BackgroundColor } from "./tui.ts";

interface ThemeControlOptions {
  screen: Pick<Screen, "theme" | "tui">;
  /** What the user wants: `auto`, a name, or two, for a light and a dark terminal, with a slash between them. */
  choice: string;
  /** Themes that are there at once. */
  known?: readonly ThemeColors[];
}

/**
 * Owner of which theme is in use: the previewed one, else the one that an extension has set, else the one that the user
 * has chosen, for the terminal's background.
 */
export class ThemeControl {
  readonly #screen: Pick<Screen, "theme" | "tui">;
  #themes: ReadonlyMap<string, ThemeColors>;
  #background: "dark" | "light";
  #choice: string;
  #ofExtension: string | ThemeColors | undefined;
  #previewed: string | undefined;
  /** Undefined before all files were read. */
  #notify: ((notice: AgentNotice) => void) | undefined;
  /** The missing choice that was notified last. */
  #missing: string | undefined;
  #isClosed = false;

  constructor({ screen, choice, known = [] }: ThemeControlOptions) {
    this.#screen = screen;
    this.#background = screen.theme.now.appearance;
    this.#choice = choice;
    this.#themes = withBuiltIns(new Map(known.map((theme) => [theme.name, theme])));
    screen.theme.use(this.#wanted());
  }

  /** What the user has chosen, as the settings have it. */
  get choice(): string {
    return this.#choice;
  }

  /** All there are, by name. */
  get all(): readonly ThemeColors[] {
    return [...this.#themes.values()];
  }

  get(name: string): ThemeColors | undefined {
    return this.#themes.get(name);
  }

  /** True for `auto`, for the name of a theme, and for two of them with a slash between. */
  has(choice: string): boolean {
    return namesOf(choice).every((name) => this.#themes.has(name));
  }

  /**
   * Reads the theme files again.
   * @param onNotice gets the problems, now and later. Omitted while extensions may still add themes.
   */
  async read(places: readonly ResourcePlace[], onNotice?: (notice: AgentNotice) => void): Promise<void> {
    const { themes, broken, notices } = await findThemes(places, Object.keys(builtInThemes));
    if (this.#isClosed) return;
    if (onNotice !== undefined) for (const notice of notices) onNotice(notice);
    this.#notify = onNotice;
    this.#missing = undefined;
    // An earlier version of a file that is broken now is better than nothing.
    const kept = this.all.filter(({ name, path = "" }) => broken.includes(path) && !themes.has(name));
    this.#themes = withBuiltIns(new Map([...kept.map((theme) => [theme.name, theme] as const), ...themes]));
    this.#apply();
  }

  close(): void {
    this.#isClosed = true;
    this.#notify = undefined;
  }

  /** What the settings say; what an extension has set ends where that is something new. */
  choose(choice: string): void {
    if (choice === this.#choice) return;
    this.#choice = choice;
    this.#ofExtension = undefined;
    this.#missing = undefined;
    this.#chosen();
  }

  /** Undefined brings back what the user has chosen. */
  setOfExtension(theme: string | ThemeColors | undefined): void {
    if (theme === this.#ofExtension) return;
    this.#ofExtension = theme;
    this.#chosen();
  }

  /** Shows another theme for now; undefined ends that. */
  preview(choice: string | undefined): void {
    if (choice === this.#previewed) return;
    this.#previewed = choice;
    this.#chosen();
  }

  /**
   * Asks the terminal for its background, and takes the theme that fits, whenever the answer comes, and anew when the
   * terminal changes its colours. Where it does not answer, nothing changes. To be called once, when the screen has been
   * started.
   */
  followBackground(): void {
    const { theme, tui } = this.#screen;
    if (theme.mode === "none") return;
    tui.addInputListener((data) => {
      if (!data.startsWith("\x1b]11;")) return undefined;
      const background = parseOsc11BackgroundColor(data);
      if (background !== undefined) this.#answered(schemeOfBackground(background));
      return { consume: true };
    });
    tui.onTerminalColorSchemeChange(() => this.#askBackground());
    tui.setTerminalColorSchemeNotifications(true);
    this.#askBackground();
  }

  #answered(background: "dark" | "light"): void {
    this.#background = background;
    this.#apply();
  }

  /** The terminal's answer is taken whenever it comes. */
  #askBackground(): void {
    const { theme, tui } = this.#screen;
    if (theme.mode !== "none" && this.#dependsOnBackground()) tui.terminal.write("\x1b]11;?\x07");
  }

  #dependsOnBackground(): boolean {
    const choice = this.#previewed ?? this.#ofExtension ?? this.#choice;
    return typeof choice === "string" && (namesOf(choice).length > 1 || !this.has(choice));
  }

  #wanted(): ThemeColors {
    if (this.#previewed !== undefined) return this.#settle(this.#previewed);
    const set = this.#ofExtension;
    if (typeof set === "object") return set;
    return this.#settle(set ?? this.#choice);
  }

  #settle(choice: string): ThemeColors {
    const [light, dark = light] = namesOf(this.has(choice) ? choice : "auto");
    return this.#themes.get(this.#background === "light" ? light! : dark!)!;
  }

  #apply(): void {
    const { theme, tui } = this.#screen;
    const wanted = this.#wanted();
    this.#noticeMissing();
    if (wanted === theme.now) return;
    theme.use(wanted);
    tui.invalidate();
    tui.requestRender();
  }

  /** Another choice: the terminal may have other colours than when it was asked last. */
  #chosen(): void {
    this.#apply();
    this.#askBackground();
  }

  #noticeMissing(): void {
    const choice = this.#choice;
    if (this.#notify === undefined || choice === this.#missing || this.has(choice)) return;
    this.#missing = choice;
    const missing = namesOf(choice).filter((name) => !this.#themes.has(name));
    const names = [...this.#themes.keys()];
    this.#notify({
      level: "warning",
      code: "theme_missing",
      message: `There is no theme ${missing.join(" and no theme ")}. Using auto instead. Themes: ${fewOf(names)}.${didYouMean(missing[0], names)}`,
    });
  }
}

/** The themes of a choice: one, or the one for a light and the one for a dark background. */
function namesOf(choice: string): string[] {
  return choice === "auto" ? ["light", "dark"] : choice.split("/").map((name) => name.trim());
}

/** A file stands in the place of the built-in theme of its name. */
function withBuiltIns(themes: ReadonlyMap<string, ThemeColors>): ReadonlyMap<string, ThemeColors> {
  return new Map<string, ThemeColors>([...Object.entries(builtInThemes), ...themes]);
}
