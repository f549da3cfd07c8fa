import type { Theme } from "@bonsai-agent/extension";
import {
  appearanceOf,
  type ColorMode,
  colorOpening,
  type ThemeBg,
  type ThemeColor,
  type ThemeColorValue,
  type ThemeToken,
  themeTokenNames,
  tokenFacts,
  withFallbacks,
} from "@bonsai-agent/extension/themes";
import { BonsaiError, jsonText } from "@bonsai-agent/messages";
import { overlay } from "./pi-extension.ts";

export type PiTheme = ReturnType<typeof piTheme>;

/** pi knows two. */
type PiColorMode = "truecolor" | "256color";

/** What of a text `style` gives a look. */
interface PiStyle {
  fg?: ThemeColor;
  bg?: ThemeBg;
  bold?: boolean;
  italic?: boolean;
  underline?: boolean;
  inverse?: boolean;
  strikethrough?: boolean;
}

const attributes = ["bold", "italic", "underline", "inverse", "strikethrough"] as const;

/** A theme with what pi's has beside it. */
export function piTheme(theme: Theme) {
  return overlay(theme, {
    getColorMode: (): PiColorMode => (theme.getColorMode() === "truecolor" ? "truecolor" : "256color"),
    getThinkingBorderColor: (level: string) => (text: string) => theme.fg(thinkingColor(level), text),
    getBashModeBorderColor: () => (text: string) => theme.fg("bashMode", text),
    style: (text: string, style: PiStyle) => styled(theme, text, style),
  });
}

function thinkingColor(level: string): ThemeColor {
  return `thinking${level.charAt(0).toUpperCase()}${level.slice(1)}` as ThemeColor;
}

function styled(theme: Theme, text: string, style: PiStyle): string {
  let drawn = text;
  for (const name of attributes) if (style[name] === true) drawn = theme[name](drawn);
  if (style.fg !== undefined) drawn = theme.fg(style.fg, drawn);
  return style.bg === undefined ? drawn : theme.bg(style.bg, drawn);
}

type GivenColors = Readonly<Partial<Record<ThemeToken, string | number>>>;

/** pi's class of a theme, for extensions that make one of their own: `ctx.ui.setTheme` takes it. */
export class PiOwnTheme implements Theme {
  readonly name: string;
  readonly appearance: "dark" | "light";
  readonly #colors: Readonly<Record<ThemeToken, ThemeColorValue>>;
  readonly #mode: PiColorMode;

  /** @throws BonsaiError `pi_theme_invalid` for what is no colour */
  constructor(
    fgColors: GivenColors,
    bgColors: GivenColors,
    mode: PiColorMode,
    { name = "", appearance }: { name?: string; appearance?: "dark" | "light" } = {},
  ) {
    const given = { ...fgColors, ...bgColors };
    const known = themeTokenNames.filter((token) => given[token] !== undefined);
    this.#colors = withFallbacks(
      Object.fromEntries(known.map((token) => [token, colorValue(token, given[token])])),
    );
    this.name = name;
    this.appearance = appearance ?? appearanceOf(this.#colors);
    this.#mode = mode;
  }

  fg(color: ThemeColor, text: string): string {
    return `${this.getFgAnsi(color)}${text}\u001b[39m`;
  }

  bg(color: ThemeBg, text: string): string {
    return `${this.getBgAnsi(color)}${text}\u001b[49m`;
  }

  getFgAnsi(color: ThemeColor): string {
    return this.#opening(color, "text");
  }

  getBgAnsi(color: ThemeBg): string {
    return this.#opening(color, "background");
  }

  getColorMode(): ColorMode {
    return this.#mode;
  }

  getThinkingBorderColor(level: string): (text: string) => string {
    return (text) => this.fg(thinkingColor(level), text);
  }

  getBashModeBorderColor(): (text: string) => string {
    return (text) => this.fg("bashMode", text);
  }

  style(text: string, style: PiStyle): string {
    return styled(this, text, style);
  }

  bold(text: string): string {
    return `\u001b[1m${text}\u001b[22m`;
  }

  italic(text: string): string {
    return `\u001b[3m${text}\u001b[23m`;
  }

  underline(text: string): string {
    return `\u001b[4m${text}\u001b[24m`;
  }

  inverse(text: string): string {
    return `\u001b[7m${text}\u001b[27m`;
  }

  strikethrough(text: string): string {
    return `\u001b[9m${text}\u001b[29m`;
  }

  #opening(token: ThemeToken, slot: "text" | "background"): string {
    const isKnown = Object.hasOwn(this.#colors, token) && tokenFacts(token).slot === slot;
    return isKnown ? colorOpening(this.#colors[token], slot, this.#mode) : "";
  }
}

function colorValue(token: string, value: string | number | undefined): ThemeColorValue {
  if (value === "" || (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 256))
    return value;
  const [, short, long] = /^#(?:([\da-f]{3})|([\da-f]{6}))$/i.exec(String(value)) ?? [];
  const hex = long ?? short?.replace(/./g, "$&$&");
  if (hex === undefined)
    throw new BonsaiError({
      code: "pi_theme_invalid",
      message: `The theme colour ${token} is ${jsonText(value)}, but must be #rgb, #rrggbb, a number from 0 to 255, or "".`,
      hint: "For other colours, write a theme file and pass its name to ctx.ui.setTheme.",
    });
  const [r, g, b] = [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return { r: r!, g: g!, b: b! };
}

const same = (text: string) => text;

let current: Pick<Theme, "fg" | "bold" | "italic" | "underline" | "strikethrough"> = {
  fg: (_color, text) => text,
  bold: same,
  italic: same,
  underline: same,
  strikethrough: same,
};

/** pi's functions for the looks of its components get no context: they have the looks of the terminal of the process. */
export function useTheme(theme: Theme): void {
  current = theme;
}

export function themeInUse(): typeof current {
  return current;
}
