import type { Theme } from "@bonsai-agent/extension";

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
