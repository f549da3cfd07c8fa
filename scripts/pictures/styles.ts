import type { Span } from "./cells.ts";
import { cell } from "./measures.ts";
import { paper, text } from "./palette.ts";

const marks: Readonly<Record<string, string>> = {
  b: "font-weight:700",
  i: "font-style:italic",
  u: "text-decoration:underline",
  s: "text-decoration:line-through",
  d: "opacity:.65",
};

/** The classes that a picture needs, named as they come. */
export class Styles {
  readonly #rules = new Map<string, string>();

  fill(color: string): string {
    return this.#named(`fill:${color}`);
  }

  stroke(color: string): string {
    return this.#named(`stroke:${color}`);
  }

  text({ color, marks: given }: Pick<Span, "color" | "marks">): string {
    return this.#named([`fill:${color}`, ...Array.from(given, (mark) => marks[mark]!)].join(";"));
  }

  /** To be asked last. */
  sheet(): string {
    const font = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace';
    const fixed = [
      `text{font:${cell.fontSize}px ${font};fill:${text};white-space:pre;dominant-baseline:alphabetic}`,
      `.m{text-anchor:middle}.l{fill:none}.paper{fill:${paper};stroke:#3b404a}`,
    ];
    return [...fixed, ...[...this.#rules].map(([rule, name]) => `.${name}{${rule}}`)].join("\n");
  }

  #named(rule: string): string {
    const known = this.#rules.get(rule);
    if (known !== undefined) return known;
    const name = `c${this.#rules.size.toString(36)}`;
    this.#rules.set(rule, name);
    return name;
  }
}
