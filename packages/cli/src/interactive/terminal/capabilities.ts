import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ColorMode, isLight, type Rgb } from "@bonsai-agent/extension/themes";
import { setCapabilityOverrides } from "@earendil-works/pi-tui";
import type { ColorScheme } from "./theme.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The scheme to begin with, before the terminal was asked: what the environment names, else dark. */
export function schemeOfEnvironment(env: Environment): ColorScheme {
  if (env.NO_COLOR || env.TERM === "dumb") return "none";
  return schemeOfColorFgBg(env.COLORFGBG) ?? "dark";
}

/** The scheme that can be read on a background. */
export function schemeOfBackground(background: Rgb): "dark" | "light" {
  return isLight(background) ? "light" : "dark";
}

/** Some terminals give foreground and background as numbers of the first sixteen colours: `15;0`, `0;default;15`. */
function schemeOfColorFgBg(value: string | undefined): "dark" | "light" | undefined {
  const last = value?.split(";").at(-1);
  if (last === undefined || !/^\d{1,2}$/.test(last)) return undefined;
  const background = Number(last);
  if (background > 15) return undefined;
  return background === 7 || background >= 9 ? "light" : "dark";
}

/** How many colours the terminal has; where nobody says, the 256 that nearly all have. */
export function colorModeOf(env: Environment): ColorMode {
  if (schemeOfEnvironment(env) === "none") return "none";
  const { COLORTERM = "", TERM = "", TERM_PROGRAM = "" } = env;
  const isKnown =
    /^(?:truecolor|24bit)$/i.test(COLORTERM) ||
    /kitty|ghostty|alacritty|wezterm|foot|-direct$/i.test(TERM) ||
    /^(?:vscode|zed|alacritty|wezterm|ghostty|iterm\.app|warpterminal)$/i.test(TERM_PROGRAM) ||
    Boolean(env.WT_SESSION);
  if (isKnown) return "truecolor";
  return /^(?:ansi|cons25|linux|vt\d)|-16color$/.test(TERM) ? "16color" : "256color";
}

/** The theme of the user's own file: the first frame does not wait until all settings are read. */
export function themeAtStart(home: string): string {
  try {
    const { theme } = JSON.parse(readFileSync(join(home, "settings.json"), "utf8")) as { theme?: unknown };
    return typeof theme === "string" ? theme : "auto";
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
