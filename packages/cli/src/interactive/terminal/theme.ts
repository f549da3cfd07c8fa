import {
  type ColorMode,
  colorOpening,
  type ThemeColors,
  type ThemeColorValue,
  type ThemeToken,
  themeTokenNames,
  tokenFacts,
} from "@bonsai-agent/extension/themes";
import { builtInThemes } from "./built-in-themes.ts";
import { type EditorTheme, type MarkdownTheme, type SelectListTheme, stripTerminalSequences } from "./tui.ts";

export type Style = (text: string) => string;

/** The terminal's background, or no colours. */
export type ColorScheme = "dark" | "light" | "none";

type Look = readonly [open: string, close: string];

const attributes = { bold: ["1", "22"], reverse: ["7", "27"] } as const;

export type StyleName = ThemeToken | "bold";

/** All styles. One object: its styles change with the theme in use. */
export interface Theme {
  readonly now: ThemeColors;
  readonly mode: ColorMode;
  /** Without colours: bold and reverse video. */
  readonly style: Readonly<Record<StyleName, Style>>;
  /** The escape that starts a colour; empty without colours. */
  opening(token: ThemeToken): string;
  readonly markdown: MarkdownTheme;
  readonly select: SelectListTheme;
  readonly editor: EditorTheme;
  use(theme: ThemeColors): void;
}

/** @param scheme the first theme; `none` for no colours. @param mode default `256color` */
export function makeTheme(scheme: ColorScheme, mode: ColorMode = "256color"): Theme {
  const colorMode = scheme === "none" ? "none" : mode;
  let now: ThemeColors = builtInThemes[scheme === "none" ? "dark" : scheme];
  let looks = looksOf(now, colorMode);
  const style = Object.fromEntries(
    (["bold", ...themeTokenNames] as const).map((name) => [
      name,
      (text: string) => styled(text, looks[name]),
    ]),
  ) as Record<StyleName, Style>;
  const select = {
    selectedPrefix: style.accent,
    selectedText: style.accent,
    description: style.muted,
    scrollInfo: style.dim,
    noMatch: style.muted,
  };
  return {
    get now() {
      return now;
    },
    mode: colorMode,
    use(next) {
      now = next;
      looks = looksOf(now, colorMode);
    },
    opening: (token) =>
      colorMode === "none" ? "" : colorOpening(now.colors[token], tokenFacts(token).slot, colorMode),
    style,
    markdown: markdownLooks(style),
    select,
    editor: { borderColor: style.border, selectList: select },
  };
}

function looksOf({ colors }: ThemeColors, mode: ColorMode): Readonly<Record<StyleName, Look>> {
  const looks = themeTokenNames.map((token): [StyleName, Look] => [
    token,
    lookOf(token, colors[token], mode),
  ]);
  return Object.fromEntries([["bold", sgr(attributes.bold)], ...looks]) as Record<StyleName, Look>;
}

function lookOf(token: ThemeToken, color: ThemeColorValue, mode: ColorMode): Look {
  const { slot, without } = tokenFacts(token);
  if (mode !== "none" && color !== "")
    return [colorOpening(color, slot, mode), `\u001b[${slot === "text" ? 39 : 49}m`];
  // The selection must be visible without a colour.
  const attribute = mode === "none" || without === "reverse" ? without : undefined;
  return attribute === undefined ? ["", ""] : sgr(attributes[attribute]);
}

function sgr([open, close]: readonly [string, string]): Look {
  return [`\u001b[${open}m`, `\u001b[${close}m`];
}

function markdownLooks(style: Theme["style"]): Theme["markdown"] {
  return {
    heading: (text) => (isHashes(text) ? "" : style.bold(style.mdHeading(text))),
    link: style.mdLink,
    linkUrl: style.mdLinkUrl,
    code: style.mdCode,
    codeBlock: style.mdCodeBlock,
    codeBlockBorder: style.mdCodeBlockBorder,
    quote: style.mdQuote,
    quoteBorder: style.mdQuoteBorder,
    hr: style.mdHr,
    listBullet: style.mdListBullet,
    bold: style.bold,
    italic: (text) => styled(text, sgr(["3", "23"])),
    strikethrough: (text) => styled(text, sgr(["9", "29"])),
    underline: (text) => styled(text, sgr(["4", "24"])),
  };
}

/** The library draws the hashes of a heading from the third level on as a text of their own. */
function isHashes(text: string): boolean {
  return /^#{3,6} $/.test(stripTerminalSequences(text));
}

function styled(text: string, [open, close]: Look): string {
  return open === "" || text === "" ? text : `${open}${text}${close}`;
}
