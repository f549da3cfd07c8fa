import { type EditorTheme, type MarkdownTheme, type SelectListTheme, stripTerminalSequences } from "./tui.ts";

/** Gives a text a look. */
export type Style = (text: string) => string;

/** The looks that there are, by what they mean. */
export type StyleName =
  | "accent"
  | "muted"
  | "dim"
  | "border"
  | "success"
  | "warning"
  | "error"
  | "user"
  | "thinking"
  | "toolName"
  | "added"
  | "removed"
  | "selected"
  | "bold"
  | "userBackground"
  | "toolBackground"
  | "toolErrorBackground";

export type ColorScheme = "dark" | "light" | "none";

/** Which scheme the user wants: `auto`, the one that the terminal's background asks for. */
export type ThemeChoice = "auto" | "dark" | "light";

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

/** What is written before and behind a text. */
type Look = readonly [open: string, close: string];
type Looks = Readonly<Record<StyleName, Look>>;

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

const looksOf: Readonly<Record<ColorScheme, Looks>> = { dark, light, none };
