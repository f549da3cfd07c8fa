import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ColorMode, isLight, type Rgb } from "@bonsai-agent/extension/themes";
import { setCapabilityOverrides } from "@earendil-works/pi-tui";
import type { ColorScheme } from "./theme.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The scheme before the terminal has answered: from the environment, else dark. */
export function schemeOfEnvironment(env: Environment): ColorScheme {
  if (env.NO_COLOR || env.TERM === "dumb") return "none";
  return schemeOfColorFgBg(env.COLORFGBG) ?? "dark";
}

export function schemeOfBackground(background: Rgb): "dark" | "light" {
  return isLight(background) ? "light" : "dark";
}

/** @param value two of the first sixteen colours, the last one for the background: `15;0`, `0;default;15` */
function schemeOfColorFgBg(value: string | undefined): "dark" | "light" | undefined {
  const last = value?.split(";").at(-1);
  if (last === undefined || !/^\d{1,2}$/.test(last)) return undefined;
  const background = Number(last);
  if (background > 15) return undefined;
  return background === 7 || background >= 9 ? "light" : "dark";
}

/** The terminal's colours. Default: the 256 that nearly all have. */
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

/** The theme in the user's settings. The first frame does not wait for the other settings. */
export function themeAtStart(home: string): string {
  try {
    const { theme } = JSON.parse(readFileSync(join(home, "settings.json"), "utf8")) as { theme?: unknown };
    return typeof theme === "string" ? theme : "auto";
  } catch {
    // Reading all settings reports a broken file.
    return "auto";
  }
}

const ANSWER_WITHIN_MS = 1_000;

/**
 * Draws no links in tmux until tmux has answered whether it passes them on: the library would wait for the answer before
 * it draws anything.
 * @returns asks tmux, to be called after the first frame; `onLinks` is called if links are possible
 */
export function linksOfTmux(env: NodeJS.ProcessEnv): (onLinks: () => void) => void {
  const isTmux = env.TMUX || env.TERM?.startsWith("tmux");
  if (!isTmux || env.PI_HYPERLINKS) return () => {};
  setCapabilityOverrides({ hyperlinks: false });
  const words = ["display-message", "-p", "#{client_termfeatures}"];
  return (onLinks) => {
    const onAnswer = (error: Error | null, answer: string) => {
      if (error !== null || !answer.trim().split(",").includes("hyperlinks")) return;
      setCapabilityOverrides({ hyperlinks: true });
      onLinks();
    };
    try {
      execFile("tmux", words, { env, timeout: ANSWER_WITHIN_MS }, onAnswer).unref();
    } catch {
      // No answer: no links.
    }
  };
}
