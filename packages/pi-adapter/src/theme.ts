import type { Theme } from "@bonsai-agent/extension";
import { overlay } from "./pi-extension.ts";

type Color = Parameters<Theme["fg"]>[0];
type Background = Parameters<Theme["bg"]>[0];

export type PiTheme = ReturnType<typeof piTheme>;

/**
 * A theme with what pi's has beside it.
 * @param name default `bonsai`, the one in use
 */
export function piTheme(theme: Theme, name = "bonsai") {
  return overlay(theme, {
    name,
    getFgAnsi: (color: Color) => opening(theme.fg(color, mark)),
    getBgAnsi: (color: Background) => opening(theme.bg(color, mark)),
    getColorMode: () => "256color" as const,
    getThinkingBorderColor: (level: string) => (text: string) => {
      const name = `thinking${level.charAt(0).toUpperCase()}${level.slice(1)}` as Color;
      return theme.fg(name, text);
    },
    getBashModeBorderColor: () => (text: string) => theme.fg("bashMode", text),
  });
}

const mark = "x";

/** What stands before a text that got its look. */
function opening(styled: string): string {
  return styled.slice(0, styled.indexOf(mark));
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
