import { setTimeout as wait } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { AgentNotice } from "@bonsai-agent/agent";
import type { ThemeColors } from "@bonsai-agent/extension/themes";
import type { ResourcePlace } from "../../call/resource-places.ts";
import { didYouMean, fewOf } from "../../views/nearest-word.ts";
import { builtInThemes } from "./built-in-themes.ts";
import { schemeOfBackground } from "./capabilities.ts";
import { FileWatch } from "./file-watch.ts";
import { findThemes, problemText } from "./find-themes.ts";
import type { Screen } from "./screen.ts";
import { parseOsc11BackgroundColor } from "./tui.ts";

interface ThemeControlOptions {
  screen: Pick<Screen, "theme" | "tui">;
  /** What the user wants: `auto`, a name, or two, for a light and a dark terminal, with a slash between them. */
  choice: string;
  /** Themes that are there at once. */
  known?: readonly ThemeColors[];
}

interface ReadOptions {
  onNotice: (notice: AgentNotice) => void;
  /**
   * `first`: more places come, and a theme that is missing may be there. `rest`: they have come, and what was notified at
   * first is not notified again. Default `all`.
   */
  stage?: "all" | "first" | "rest" | undefined;
}

/** A file that is being written is looked at once more after this time, before anything is said of it. */
const halfWrittenMs = 250;

/**
 * Owner of which theme is in use: the one that is looked at, else the one that an extension has set, else the one that
 * the user has chosen; what of that depends on the terminal's background, and the file that it was read from.
 */
export class ThemeControl {
  readonly #screen: Pick<Screen, "theme" | "tui">;
  readonly #watch = new FileWatch((path) => void this.#reread(path));
  #themes: ReadonlyMap<string, ThemeColors>;
  #background: "dark" | "light";
  #choice: string;
  #ofExtension: string | ThemeColors | undefined;
  #previewed: string | undefined;
  /** Undefined before the files were read. */
  #notify: ((notice: AgentNotice) => void) | undefined;
  /** What was said last of a file that is broken, or of a theme that is missing. */
  #said: string | undefined;
  /** Of the files, when they were read last. */
  #noticed: readonly string[] = [];
  #rereads = 0;
  #isClosed = false;
  /** Whether a theme that is missing may still come. */
  #mayCome = false;

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

  /** Reads the files of themes; from then on the one in use is watched. To be called anew when there may be others. */
  async read(places: readonly ResourcePlace[], { onNotice, stage = "all" }: ReadOptions): Promise<void> {
    const { themes, broken, notices } = await findThemes(places, Object.keys(builtInThemes));
    if (this.#isClosed) return;
    const before = new Set(stage === "rest" ? this.#noticed : []);
    this.#noticed = notices.map(({ message }) => message);
    for (const notice of notices) if (!before.has(notice.message)) onNotice(notice);
    this.#notify = onNotice;
    this.#said = undefined;
    this.#mayCome = stage === "first";
    // What was read of a file that is broken now is better than nothing.
    const kept = this.all.filter(({ name, path = "" }) => broken.includes(path) && !themes.has(name));
    this.#themes = withBuiltIns(new Map([...kept.map((theme) => [theme.name, theme] as const), ...themes]));
    this.#apply();
  }

  /** Lets go of the file. */
  close(): void {
    this.#isClosed = true;
    this.#notify = undefined;
    this.#watch.follow(undefined);
  }

  /** What the settings say; what an extension has set ends where that is something new. */
  choose(choice: string): void {
    if (choice === this.#choice) return;
    this.#choice = choice;
    this.#ofExtension = undefined;
    this.#said = undefined;
    this.#chosen();
  }

  /** The user wants to see what the settings say, whatever an extension has set. */
  endExtension(): void {
    this.setOfExtension(undefined);
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
    if (this.#notify !== undefined) {
      if (this.#previewed === undefined) this.#watch.follow(wanted.path);
      this.#sayMissing(this.#choice);
    }
    if (wanted !== theme.now) {
      theme.use(wanted);
      tui.invalidate();
      tui.requestRender();
    }
  }

  /** Another choice: the terminal may have other colours than when it was asked last. */
  #chosen(): void {
    this.#apply();
    this.#askBackground();
  }

  #sayMissing(choice: string): void {
    if (this.#mayCome || this.has(choice)) return;
    const missing = namesOf(choice).filter((name) => !this.#themes.has(name));
    const names = [...this.#themes.keys()];
    this.#sayOnce({
      level: "warning",
      code: "theme_missing",
      message: `There is no theme ${missing.join(" and no theme ")}. Using auto instead. Themes: ${fewOf(names)}.${didYouMean(missing[0], names)}`,
    });
  }

  #sayOnce(notice: AgentNotice): void {
    if (this.#said === notice.message) return;
    this.#said = notice.message;
    this.#notify?.(notice);
  }

  /** What is broken for the moment keeps the looks that were there last. */
  async #reread(path: string): Promise<void> {
    this.#rereads += 1;
    const mine = this.#rereads;
    const isLatest = () => mine === this.#rereads && this.#notify !== undefined;
    const { readThemeFile } = await import("./theme-file.ts");
    for (const isLast of [false, true]) {
      try {
        const theme = await readThemeFile(path);
        if (isLatest()) this.#changed(path, theme);
        return;
      } catch (error) {
        if (!isLatest()) return;
        if (isLast) this.#sayBroken(problemText(path, error));
        else await wait(halfWrittenMs);
      }
    }
  }

  #changed(path: string, theme: ThemeColors): void {
    const known = this.all.find((each) => each.path === path);
    if (known?.name === theme.name) {
      this.#said = undefined;
      if (isDeepStrictEqual(known, theme)) return;
      this.#themes = new Map(this.#themes).set(theme.name, theme);
      this.#apply();
    } else this.#sayBroken(`The theme in ${path} has a new name: ${theme.name}. Run /reload to use it.`);
  }

  #sayBroken(problem: string): void {
    this.#sayOnce({
      level: "warning",
      code: "theme_left_out",
      message: `${problem} Keeping the current colours.`,
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
