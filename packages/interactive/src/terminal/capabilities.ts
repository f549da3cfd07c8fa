import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setCapabilityOverrides } from "@earendil-works/pi-tui";
import type { Screen } from "./screen.ts";
import type { ColorScheme, ThemeChoice } from "./theme.ts";
import { parseOsc11BackgroundColor } from "./tui.ts";

interface Rgb {
  /** 0 to 255 each. */
  r: number;
  g: number;
  b: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The scheme to begin with, before the terminal was asked: what the environment names, else dark. */
export function schemeOfEnvironment(env: Environment): ColorScheme {
  if (env.NO_COLOR || env.TERM === "dumb") return "none";
  return schemeOfColorFgBg(env.COLORFGBG) ?? "dark";
}

/** The scheme that can be read on a background. */
export function schemeOfBackground({ r, g, b }: Rgb): "dark" | "light" {
  return relativeLuminance({ r, g, b }) > 0.18 ? "light" : "dark";
}

/** Some terminals give foreground and background as numbers of the first sixteen colours: `15;0`, `0;default;15`. */
function schemeOfColorFgBg(value: string | undefined): "dark" | "light" | undefined {
  const last = value?.split(";").at(-1);
  if (last === undefined || !/^\d{1,2}$/.test(last)) return undefined;
  const background = Number(last);
  if (background > 15) return undefined;
  return background === 7 || background >= 9 ? "light" : "dark";
}

/** How bright a colour is to the eye, 0 to 1 (WCAG 2). Half way between black and white in contrast is 0.18. */
function relativeLuminance({ r, g, b }: Rgb): number {
  const [red, green, blue] = [r, g, b].map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

type ThemedScreen = Pick<Screen, "theme" | "tui">;

/**
 * Asks the terminal for its background and takes the scheme that fits, whenever the answer comes, and anew when the
 * terminal changes its colours. Where it does not answer, the theme has no colours, or the user has chosen one, nothing
 * changes. To be called once, when the screen has been started.
 */
export function followBackground(screen: ThemedScreen): void {
  const { theme, tui } = screen;
  if (theme.scheme === "none") return;
  tui.addInputListener((data) => {
    if (!data.startsWith("\x1b]11;")) return undefined;
    applyBackground(screen, data);
    return { consume: true };
  });
  tui.onTerminalColorSchemeChange(() => askBackground(screen));
  tui.setTerminalColorSchemeNotifications(true);
  askBackground(screen);
}

/** `followBackground` takes the answer, however late it comes. */
function askBackground({ theme, tui }: ThemedScreen): void {
  if (theme.scheme !== "none" && theme.choice === "auto") tui.terminal.write("\x1b]11;?\x07");
}

function applyBackground({ theme, tui }: ThemedScreen, answer: string): void {
  const background = parseOsc11BackgroundColor(answer);
  if (background === undefined || theme.choice !== "auto") return;
  const scheme = schemeOfBackground(background);
  if (scheme === theme.scheme) return;
  theme.use(scheme);
  tui.invalidate();
  tui.requestRender();
}

/** Takes the theme that the settings name, at once; for `auto` the terminal is asked. */
export function applyTheme(screen: Pick<Screen, "theme" | "tui">, choice: ThemeChoice): void {
  const { theme, tui } = screen;
  if (theme.choice === choice) return;
  theme.choose(choice);
  tui.invalidate();
  tui.requestRender();
  askBackground(screen);
}

/** The theme of the user's own file: the first frame does not wait until all settings are read. */
export function themeAtStart(home: string): ThemeChoice {
  try {
    const { theme } = JSON.parse(readFileSync(join(home, "settings.json"), "utf8")) as { theme?: unknown };
    return theme === "dark" || theme === "light" ? theme : "auto";
  } catch {
    // No file, or one that cannot be read: reading all of it is an error later.
    return "auto";
  }
}

/** A server that answers later is busy with something else. */
const answerWithinMs = 1_000;

/**
 * The library asks tmux whether it passes links on before it draws anything, and waits for the answer. Here there are no
 * links until tmux has answered.
 * @returns asks it, to be called once the first frame is drawn; `onLinks` is called when there are links from now on
 */
export function linksOfTmux(env: NodeJS.ProcessEnv): (onLinks: () => void) => void {
  const isTmux = env.TMUX || env.TERM?.startsWith("tmux");
  if (!isTmux || env.PI_HYPERLINKS) return () => {};
  setCapabilityOverrides({ hyperlinks: false });
  const words = ["display-message", "-p", "#{client_termfeatures}"];
  return (onLinks) => {
    const onAnswer = (error: Error | null, answer: string) => {
      // Without an answer there are none.
      if (error !== null || !answer.trim().split(",").includes("hyperlinks")) return;
      setCapabilityOverrides({ hyperlinks: true });
      onLinks();
    };
    try {
      execFile("tmux", words, { env, timeout: answerWithinMs }, onAnswer).unref();
    } catch {
      // Some refusals of the system are thrown: without an answer there are none.
    }
  };
}
