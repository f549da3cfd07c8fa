import type { ColorScheme, Style, StyleName, Theme } from "./theme.ts";

type Looks = Readonly<Record<StyleName, readonly [open: string, close: string]>>;

const color = (code: number): readonly [string, string] => [`38;5;${code}`, "39"];
const background = (code: number): readonly [string, string] => [`48;5;${code}`, "49"];

const common = { bold: ["1", "22"], selected: ["7", "27"] } as const;

const dark: Looks = {
  ...common,
  accent: color(110),
  muted: color(245),
  dim: color(240),
  border: color(240),
  success: color(114),
  warning: color(179),
  error: color(174),
  user: color(252),
  thinking: color(243),
  toolName: color(152),
  added: color(114),
  removed: color(174),
  userBackground: background(236),
  toolBackground: background(235),
  toolErrorBackground: background(52),
};

const light: Looks = {
  ...common,
  accent: color(25),
  muted: color(241),
  dim: color(247),
  border: color(250),
  success: color(28),
  warning: color(130),
  error: color(124),
  user: color(235),
  thinking: color(244),
  toolName: color(24),
  added: color(28),
  removed: color(124),
  userBackground: background(254),
  toolBackground: background(255),
  toolErrorBackground: background(224),
};

/** Without colours, weight and reverse video say what colours would. */
const plain: Looks = {
  ...Object.fromEntries(Object.keys(dark).map((name) => [name, ["", ""]])),
  ...common,
} as unknown as Looks;

const looksOf: Readonly<Record<ColorScheme, Looks>> = { dark, light, none: plain };

export function makeTheme(scheme: ColorScheme): Theme {
  const style = Object.fromEntries(
    Object.entries(looksOf[scheme]).map(([name, look]) => [name, styled(look)]),
  ) as Record<StyleName, Style>;
  const select = {
    selectedPrefix: style.accent,
    selectedText: style.accent,
    description: style.muted,
    scrollInfo: style.dim,
    noMatch: style.muted,
  };
  return {
    scheme,
    style,
    markdown: {
      heading: (text) => style.bold(style.accent(text)),
      link: style.accent,
      linkUrl: style.dim,
      code: style.accent,
      codeBlock: (text) => text,
      codeBlockBorder: style.dim,
      quote: style.muted,
      quoteBorder: style.dim,
      hr: style.dim,
      listBullet: style.muted,
      bold: style.bold,
      italic: styled(["3", "23"]),
      strikethrough: styled(["9", "29"]),
      underline: styled(["4", "24"]),
    },
    select,
    editor: { borderColor: style.border, selectList: select },
  };
}

function styled([open, close]: readonly [string, string]): Style {
  return open === "" ? (text) => text : (text) => `\u001b[${open}m${text}\u001b[${close}m`;
}
