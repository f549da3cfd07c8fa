import { type EditorTheme, type MarkdownTheme, type SelectListTheme, stripTerminalSequences } from "./tui.ts";

/** Gives a text a look. */
export type Style = (text: string) => string;

export type ColorScheme = "dark" | "light" | "none";

/** Which scheme the user wants: `auto`, the one that the terminal's background asks for. */
export type ThemeChoice = "auto" | "dark" | "light";

/** What is written before and behind a text. */
type Look = readonly [open: string, close: string];
type Looks = Readonly<Record<ColorScheme, Look>>;

const bold: Look = ["1", "22"];
const reverse: Look = ["7", "27"];
const asIs: Look = ["", ""];
const always = (look: Look): Looks => ({ dark: look, light: look, none: look });
const color = (dark: number, light: number, none: Look): Looks => ({
  dark: [`38;5;${dark}`, "39"],
  light: [`38;5;${light}`, "39"],
  none,
});
const ground = (dark: number, light: number): Looks => ({
  dark: [`48;5;${dark}`, "49"],
  light: [`48;5;${light}`, "49"],
  none: asIs,
});

/** The looks that there are, by what they mean. Without colours, weight and reverse video show what colours would. */
const looks = {
  bold: always(bold),
  selected: always(reverse),
  accent: color(110, 25, bold),
  muted: color(247, 240, asIs),
  dim: color(244, 242, asIs),
  border: color(240, 248, asIs),
  success: color(114, 22, asIs),
  warning: color(179, 94, bold),
  error: color(210, 124, bold),
  user: color(253, 235, bold),
  thinking: color(246, 241, asIs),
  toolName: color(152, 24, bold),
  added: color(114, 22, asIs),
  removed: color(210, 124, asIs),
  userBackground: ground(236, 254),
  toolBackground: ground(235, 255),
  toolErrorBackground: ground(52, 224),
};

export type StyleName = keyof typeof looks;

/** How everything looks; one object, whose looks change when the scheme does. */
export interface Theme {
  readonly scheme: ColorScheme;
  readonly choice: ThemeChoice;
  readonly style: Readonly<Record<StyleName, Style>>;
  readonly markdown: MarkdownTheme;
  readonly select: SelectListTheme;
  readonly editor: EditorTheme;
  /** Takes another scheme: everything that holds this theme has the new looks when it is drawn anew. */
  use(scheme: ColorScheme): void;
  /** Takes the scheme that the user wants, `auto` the one that it began with; one without colours stays so. */
  choose(choice: ThemeChoice): void;
}

/** A theme whose scheme can change: its styles look the present one up whenever they are used. */
export function makeTheme(first: ColorScheme): Theme {
  let scheme = first;
  let choice: ThemeChoice = "auto";
  const style = Object.fromEntries(
    Object.entries(looks).map(([name, look]) => [name, (text: string) => styled(text, look[scheme])]),
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
