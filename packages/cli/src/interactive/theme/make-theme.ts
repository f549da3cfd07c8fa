import { stripTerminalSequences } from "../terminal/tui.ts";
import { type Look, looksOf } from "./looks.ts";
import type { ColorScheme, Style, StyleName, Theme, ThemeChoice } from "./theme.ts";

/** A theme whose scheme can change: its styles look the present one up whenever they are used. */
export function makeTheme(first: ColorScheme): Theme {
  let scheme = first;
  let choice: ThemeChoice = "auto";
  const names = Object.keys(looksOf[first]) as StyleName[];
  const style = Object.fromEntries(
    names.map((name): [StyleName, Style] => [name, (text) => styled(text, looksOf[scheme][name])]),
  ) as Record<StyleName, Style>;
  const select = {
    selectedPrefix: style.accent,
    selectedText: style.accent,
    description: style.muted,
    scrollInfo: style.dim,
    noMatch: style.muted,
  };
  return {
    get scheme() {
      return scheme;
    },
    get choice() {
      return choice;
    },
    use(next) {
      scheme = next;
    },
    choose(next) {
      choice = next;
      scheme = next === "auto" || first === "none" ? first : next;
    },
    style,
    markdown: markdownLooks(style),
    select,
    editor: { borderColor: style.border, selectList: select },
  };
}

function markdownLooks(style: Readonly<Record<StyleName, Style>>): Theme["markdown"] {
  return {
    heading: (text) => (isHashes(text) ? "" : style.bold(style.accent(text))),
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
    italic: (text) => styled(text, ["3", "23"]),
    strikethrough: (text) => styled(text, ["9", "29"]),
    underline: (text) => styled(text, ["4", "24"]),
  };
}

/** The library writes those of a heading of the third level or deeper as a text of its own, in front of it. */
function isHashes(text: string): boolean {
  return /^#{3,6} $/.test(stripTerminalSequences(text));
}

function styled(text: string, [open, close]: Look): string {
  return open === "" || text === "" ? text : `\u001b[${open}m${text}\u001b[${close}m`;
}
