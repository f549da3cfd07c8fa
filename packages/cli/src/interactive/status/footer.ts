import type { Component } from "../terminal/tui.ts";
import type { Theme } from "../theme/theme.ts";
import type { FooterFacts } from "./footer-facts.ts";
import { footerLines } from "./footer-lines.ts";

interface Drawn {
  facts: FooterFacts | undefined;
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
    const drawn = this.#drawn;
    if (drawn?.facts === facts && drawn?.width === width) return drawn.lines;
    const lines = facts === undefined ? [] : footerLines(facts, width, this.#theme);
    this.#drawn = { facts, width, lines };
    return lines;
  }

  invalidate(): void {
    this.#drawn = undefined;
  }
}
