import { cutText } from "./status/cut-text.ts";
import { Container } from "./terminal/tui.ts";
import type { Theme } from "./theme/theme.ts";

/** Where the footer stands, whoever draws it. */
export class FooterPlace extends Container {
  readonly #theme: Pick<Theme, "style">;
  #hint: string | undefined;

  constructor(theme: Pick<Theme, "style">) {
    super();
    this.#theme = theme;
  }

  /** Stands in the place of the first line, so that nothing moves; undefined ends it. */
  setHint(hint: string | undefined): void {
    this.#hint = hint;
  }

  override render(width: number): string[] {
    const lines = super.render(width);
    if (this.#hint === undefined) return lines;
    return [this.#theme.style.dim(cutText(` ${this.#hint}`, width)), ...lines.slice(1)];
  }
}
