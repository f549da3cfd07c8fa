import type { Theme } from "@bonsai-agent/extension";
import type { ThemeBg, ThemeColor } from "@bonsai-agent/extension/themes";
import { overlay } from "./pi-extension.ts";

export type PiTheme = ReturnType<typeof piTheme>;

/** The style of a text. */
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

/** A theme with pi's methods. */
export function piTheme(theme: Theme) {
  return overlay(theme, {
    getColorMode: () => (theme.getColorMode() === "truecolor" ? "truecolor" : "256color"),
    getThinkingBorderColor: (level: string) => (text: string) =>
      theme.fg(`thinking${level.charAt(0).toUpperCase()}${level.slice(1)}` as ThemeColor, text),
    getBashModeBorderColor: () => (text: string) => theme.fg("bashMode", text),
    style(text: string, style: PiStyle) {
      let drawn = text;
      for (const name of attributes) if (style[name] === true) drawn = theme[name](drawn);
      if (style.fg !== undefined) drawn = theme.fg(style.fg, drawn);
      return style.bg === undefined ? drawn : theme.bg(style.bg, drawn);
    },
  });
}

const same = (text: string) => text;

let current: Pick<Theme, "fg" | "bold" | "italic" | "underline" | "strikethrough"> = {
  fg: (_color, text) => text,
  ...{ bold: same, italic: same, underline: same, strikethrough: same },
};

/** The theme of the process. pi's functions for themes of components get no context. */
export function useTheme(theme: Theme): void {
  current = theme;
}

export function themeInUse(): typeof current {
  return current;
}
