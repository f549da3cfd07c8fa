import type { ChatDrawings } from "../extension-views/chat-drawings.ts";
import { drawsImage } from "../terminal/inline-image.ts";
import type { Theme } from "../terminal/theme.ts";
import { type Component, truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import type { ChatImages } from "./chat-images.ts";
import type { CodeHighlighter } from "./code-highlighter.ts";

/**
 * One thing that the chat shows, with an empty line above it.
 *
 * Invariant: what has not changed gives back the same array for the same width, and no line is wider than that.
 */
export abstract class ChatBlock implements Component {
  #lines: string[] | undefined;
  #width = -1;
  #rows = -1;
  #isExpanded = false;

  /** Whether what can be folded is shown whole. */
  get isExpanded(): boolean {
    return this.#isExpanded;
  }

  expand(isExpanded: boolean): void {
    if (isExpanded === this.#isExpanded) return;
    this.#isExpanded = isExpanded;
    this.changed();
  }

  render(width: number): string[] {
    const { rows } = this;
    if (this.#lines === undefined || this.#width !== width || this.#rows !== rows) {
      const lines = this.lines(width);
      this.#lines = lines.length === 0 ? [] : ["", ...this.fitted(lines, width)];
      this.#width = width;
      this.#rows = rows;
    }
    return this.#lines;
  }

  /** The looks have changed. */
  invalidate(): void {
    this.changed();
  }

  /** Of the terminal, where the lines depend on it. */
  protected get rows(): number {
    return 0;
  }

  protected changed(): void {
    this.#lines = undefined;
  }

  /** For who has made its lines fit already: measuring all of a long text with each word of it takes long. */
  protected fitted(lines: string[], width: number): string[] {
    return fittedLines(lines, width);
  }

  /** None where there is nothing to see. */
  protected abstract lines(width: number): string[];
}

/** Lines of at most `width` columns: what is wider is cut. Images fit already. */
export function fittedLines(lines: readonly string[], width: number): string[] {
  return lines.map((line) =>
    !drawsImage(line) && visibleWidth(line) > width ? truncateToWidth(line, width) : line,
  );
}

/** What every block of the chat is drawn with. */
export interface ChatLooks {
  readonly theme: Theme;
  readonly highlighter: CodeHighlighter;
  readonly images: ChatImages;
  /** How extensions draw what is theirs. Default: they do not. */
  readonly drawings?: ChatDrawings | undefined;
  /** The name of the key that unfolds, as the user has bound it. */
  readonly expandKey: () => string;
}
