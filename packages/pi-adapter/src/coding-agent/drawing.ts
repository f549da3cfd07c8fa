const same = (text: string): string => text;

/** Styles of Markdown for pi's component, without colours. */
export function getMarkdownTheme(): Record<string, unknown> {
  return {
    ...styles([
      "heading",
      "link",
      "linkUrl",
      "code",
      "codeBlock",
      "codeBlockBorder",
      "quote",
      "quoteBorder",
      "hr",
      "listBullet",
      "bold",
      "italic",
      "strikethrough",
      "underline",
    ]),
    highlightCode,
  };
}

export function getSelectListTheme(): Record<string, (text: string) => string> {
  return styles(["selectedPrefix", "selectedText", "description", "scrollInfo", "noMatch"]);
}

export function getSettingsListTheme(): Record<string, unknown> {
  return { ...styles(["label", "value", "description", "hint"]), cursor: "> " };
}

/** Lines of a code, as they are. */
export function highlightCode(code: string): string[] {
  return code.split("\n");
}

/** A line across, as wide as the terminal. */
export class DynamicBorder {
  readonly #color: (text: string) => string;

  constructor(color: (text: string) => string = same) {
    this.#color = color;
  }

  invalidate(): void {}

  render(width: number): string[] {
    return [this.#color("─".repeat(Math.max(1, width)))];
  }
}

function styles(names: readonly string[]): Record<string, (text: string) => string> {
  return Object.fromEntries(names.map((name) => [name, same]));
}
