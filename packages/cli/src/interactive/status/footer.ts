import type { Component } from "../terminal/tui.ts";
import type { Theme } from "../theme/theme.ts";
import type { FooterFacts } from "./footer-facts.ts";
import { footerLines } from "./footer-lines.ts";

interface Drawn {
  facts: FooterFacts;
  width: number;
  lines: string[];
}

/** The lines at the bottom: where, with which model, how full, what it cost. */
export class Footer implements Component {
  readonly #facts: () => FooterFacts | undefined;
  readonly #theme: Theme;
  #drawn: Drawn | undefined;

  /** @param facts the same object as long as nothing has changed; undefined before there is a session */
  constructor(facts: () => FooterFacts | undefined, theme: Theme) {
    this.#facts = facts;
    this.#theme = theme;
  }

  render(width: number): string[] {
    const facts = this.#facts();
    if (facts === undefined) return [];
    if (this.#drawn?.facts !== facts || this.#drawn.width !== width)
      this.#drawn = { facts, width, lines: footerLines(facts, width, this.#theme) };
    return this.#drawn.lines;
  }

  invalidate(): void {
    this.#drawn = undefined;
  }
}
