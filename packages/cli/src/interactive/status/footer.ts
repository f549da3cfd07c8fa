import type { Component } from "../terminal/tui.ts";
import type { Theme } from "../theme/theme.ts";
import { cutText } from "./cut-text.ts";
import type { FooterFacts } from "./footer-facts.ts";
import { footerLines } from "./footer-lines.ts";

interface Drawn {
  facts: FooterFacts | undefined;
  hint: string | undefined;
  width: number;
  lines: string[];
}

/** The lines at the bottom: where, with which model, how full, what it cost. */
export class Footer implements Component {
  readonly #facts: () => FooterFacts | undefined;
  readonly #theme: Theme;
  #hint: string | undefined;
  #drawn: Drawn | undefined;

  /** @param facts the same object as long as nothing has changed; undefined before there is a session */
  constructor(facts: () => FooterFacts | undefined, theme: Theme) {
    this.#facts = facts;
    this.#theme = theme;
  }

  /** Stands in the place of the first line, so that nothing moves; undefined ends it. */
  setHint(hint: string | undefined): void {
    this.#hint = hint;
  }

  render(width: number): string[] {
    const facts = this.#facts();
    const hint = this.#hint;
    const drawn = this.#drawn;
    if (drawn?.facts === facts && drawn?.hint === hint && drawn?.width === width) return drawn.lines;
    const known = facts === undefined ? [] : footerLines(facts, width, this.#theme);
    const lines =
      hint === undefined ? known : [this.#theme.style.dim(cutText(` ${hint}`, width)), ...known.slice(1)];
    this.#drawn = { facts, hint, width, lines };
    return lines;
  }

  invalidate(): void {
    this.#drawn = undefined;
  }
}
