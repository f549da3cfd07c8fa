import type { EditorTheme, MarkdownTheme, SelectListTheme } from "../terminal/tui.ts";

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
