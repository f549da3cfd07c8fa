import { themeInUse } from "../context/theme-desk.ts";

type Theme = ReturnType<typeof themeInUse>;
type Color = Parameters<Theme["fg"]>[0];
type Style = (text: string) => string;

/** The looks of the time when it is drawn. */
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

export function getSelectListTheme(): Record<string, Style> {
  return {
    selectedPrefix: color("accent"),
    selectedText: color("accent"),
    description: color("muted"),
    scrollInfo: color("dim"),
    noMatch: color("warning"),
  };
}

export function getSettingsListTheme(): Record<string, unknown> {
  const chosen =
    (name: Color) =>
    (text: string, isSelected?: boolean): string =>
      isSelected === true ? themeInUse().fg("accent", text) : themeInUse().fg(name, text);
  return {
    label: chosen("text"),
    value: chosen("muted"),
    description: color("dim"),
    hint: color("dim"),
    cursor: "> ",
  };
}

/** Lines of a code, as they are. */
export function highlightCode(code: string): string[] {
  return code.split("\n");
}

/** A line across, as wide as the terminal. */
export class DynamicBorder {
  readonly #color: Style;

  constructor(style: Style = color("border")) {
    this.#color = style;
  }

  invalidate(): void {}

  render(width: number): string[] {
    return [this.#color("─".repeat(Math.max(1, width)))];
  }
}
