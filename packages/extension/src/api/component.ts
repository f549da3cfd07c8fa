/**
 * What draws itself on the terminal. Components of the package `@earendil-works/pi-tui` have this shape; an extension
 * needs none of them, for an object with `render` is enough.
 */
export interface Component {
  /**
   * @param width in columns; what is wider is cut
   * @returns lines, with colours of the theme where they have some; other control characters are made harmless
   */
  render(width: number): string[];
  /** A key as the terminal sends it, while the component has the keys; it is drawn anew after that. */
  handleInput?(data: string): void;
  /** The looks have changed: what was kept of an earlier drawing no longer holds. */
  invalidate?(): void;
  /** It is not shown any more. */
  dispose?(): void;
}

/** The terminal, as far as a component needs it. */
export interface ComponentTui {
  /** Draws soon what has changed. */
  requestRender(): void;
  readonly terminal: { readonly columns: number; readonly rows: number };
}

/** Which keys mean what, as the user has bound them. */
export interface ComponentKeybindings {
  /** True where this key stands for the action, like `tui.select.confirm`, `tui.select.cancel` or `expand`. */
  matches(data: string, action: string): boolean;
  /** The keys of an action, like `ctrl+o`; none for an action that does not exist. */
  getKeys(action: string): string[];
}
