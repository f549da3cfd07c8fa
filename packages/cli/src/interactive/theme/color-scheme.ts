import type { ColorScheme } from "./theme.ts";

export interface Rgb {
  /** 0 to 255 each. */
  r: number;
  g: number;
  b: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The scheme to begin with, before the terminal was asked: what the environment says, else dark. */
export function schemeOfEnvironment(env: Environment): ColorScheme {
  if (env.NO_COLOR || env.TERM === "dumb") return "none";
  return schemeOfColorFgBg(env.COLORFGBG) ?? "dark";
}

/** The scheme that can be read on a background. */
export function schemeOfBackground({ r, g, b }: Rgb): "dark" | "light" {
  return relativeLuminance({ r, g, b }) > 0.18 ? "light" : "dark";
}

/** Some terminals tell foreground and background as numbers of the first sixteen colours: `15;0`, `0;default;15`. */
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
