import type { ColorScheme, StyleName } from "./theme.ts";

/** What is written before and behind a text. */
export type Look = readonly [open: string, close: string];
export type Looks = Readonly<Record<StyleName, Look>>;

const bold: Look = ["1", "22"];
const reverse: Look = ["7", "27"];
const asIs: Look = ["", ""];
const color = (code: number): Look => [`38;5;${code}`, "39"];
const background = (code: number): Look => [`48;5;${code}`, "49"];

const dark: Looks = {
  bold,
  selected: reverse,
  accent: color(110),
  muted: color(247),
  dim: color(244),
  border: color(240),
  success: color(114),
  warning: color(179),
  error: color(210),
  user: color(253),
  thinking: color(246),
  toolName: color(152),
  added: color(114),
  removed: color(210),
  userBackground: background(236),
  toolBackground: background(235),
  toolErrorBackground: background(52),
};

const light: Looks = {
  bold,
  selected: reverse,
  accent: color(25),
  muted: color(240),
  dim: color(242),
  border: color(248),
  success: color(22),
  warning: color(94),
  error: color(124),
  user: color(235),
  thinking: color(241),
  toolName: color(24),
  added: color(22),
  removed: color(124),
  userBackground: background(254),
  toolBackground: background(255),
  toolErrorBackground: background(224),
};

/** Without colours, weight and reverse video say what colours would. */
const none: Looks = {
  bold,
  selected: reverse,
  accent: bold,
  muted: asIs,
  dim: asIs,
  border: asIs,
  success: asIs,
  warning: bold,
  error: bold,
  user: bold,
  thinking: asIs,
  toolName: bold,
  added: asIs,
  removed: asIs,
  userBackground: asIs,
  toolBackground: asIs,
  toolErrorBackground: asIs,
};

export const looksOf: Readonly<Record<ColorScheme, Looks>> = { dark, light, none };
