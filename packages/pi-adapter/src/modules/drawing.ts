import { themeInUse } from "../theme.ts";

type Theme = ReturnType<typeof themeInUse>;
type Color = Parameters<Theme["fg"]>[0];
type Style = (text: string) => string;

/** Reads the theme at each use. */
const color =
  (name: Color): Style =>
  (text) =>
    themeInUse().fg(name, text);
const attribute =
  (name: "bold" | "italic" | "underline" | "strikethrough"): Style =>
  (text) =>
    themeInUse()[name](text);

/** Styles of Markdown for pi's component. */
export function getMarkdownTheme(): Record<string, unknown> {
  return {
    heading: color("mdHeading"),
    link: color("mdLink"),
    linkUrl: color("mdLinkUrl"),
    code: color("mdCode"),
    codeBlock: color("mdCodeBlock"),
    codeBlockBorder: color("mdCodeBlockBorder"),
    quote: color("mdQuote"),
    quoteBorder: color("mdQuoteBorder"),
    hr: color("mdHr"),
    listBullet: color("mdListBullet"),
    bold: attribute("bold"),
    italic: attribute("italic"),
    strikethrough: attribute("strikethrough"),
    underline: attribute("underline"),
    highlightCode,
  };
}

export function getSettingsListTheme(): Record<string, unknown> {
  const selectable = (name: Color) => (text: string, isSelected?: boolean) =>
    themeInUse().fg(isSelected === true ? "accent" : name, text);
  return {
    label: selectable("text"),
    value: selectable("muted"),
    description: color("dim"),
    hint: color("dim"),
    cursor: "> ",
  };
}

/** The lines of the code, without colours. */
export function highlightCode(code: string): string[] {
  return code.split("\n");
}

/** Keys by the names of pi's actions, today's and former ones. */
const keys: Readonly<Record<string, string>> = {
  "tui.select.confirm": "enter",
  "tui.select.cancel": "escape",
  "tui.select.up": "up",
  "tui.select.down": "down",
  "app.tools.expand": "ctrl+o",
  "app.interrupt": "escape",
  expandTools: "ctrl+o",
  interrupt: "escape",
  selectConfirm: "enter",
  selectCancel: "escape",
};

/** The key of an action; an unknown action stays as it is. */
export function keyText(action: string): string {
  return keys[action] ?? action;
}

export function keyHint(action: string, description: string): string {
  return `${keyText(action)} ${description}`;
}

export function rawKeyHint(key: string, description: string): string {
  return `${key} ${description}`;
}
