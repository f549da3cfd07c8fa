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

/** How everything looks; one object, whose looks change when the scheme does. */
export interface Theme {
  readonly scheme: ColorScheme;
  readonly style: Readonly<Record<StyleName, Style>>;
  readonly markdown: MarkdownTheme;
  readonly select: SelectListTheme;
  readonly editor: EditorTheme;
  /** Takes another scheme: everything that holds this theme has the new looks when it is drawn anew. */
  use(scheme: ColorScheme): void;
}
