import type { Theme } from "../api/theme.ts";

const same = (text: string) => text;

/** Where nothing is drawn, texts stay as they are. */
export const plainTheme: Theme = {
  fg: (_color, text) => text,
  bg: (_color, text) => text,
  bold: same,
  italic: same,
  underline: same,
  inverse: same,
  strikethrough: same,
};
