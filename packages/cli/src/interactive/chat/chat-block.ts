import type { ChatDrawings } from "../extension-views/chat-drawings.ts";
import { fittedLines } from "../terminal/fitted-lines.ts";
import type { Style, Theme } from "../terminal/theme.ts";
import { type Component, truncateToWidth } from "../terminal/tui.ts";
import type { ChatImages } from "./chat-images.ts";
import { type FoldOptions, foldedLines, foldMark } from "./chat-text.ts";
import type { CodeHighlighter } from "./code-highlighter.ts";

/**
 * One thing that the chat shows, with an empty line above it.
 *
 * Invariant: what has not changed gives back the same array for the same width, and no line is wider than that.
 */
export abstract class ChatBlock<Looks extends Pick<ChatLooks, "theme"> = ChatLooks> implements Component {
  protected readonly looks: Looks;
  #lines: string[] | undefined;
  #width = -1;
  #rows = -1;
  #isExpanded = false;

  constructor(looks: Looks) {
    this.looks = looks;
  }

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

  /** Folded, a line is a row or a few: a minified file is one line of a megabyte. */
  protected cut(lines: readonly string[], width: number, rows = 1): readonly string[] {
    if (this.isExpanded) return lines;
    const columns = Math.max(1, width - 3) * rows;
    return lines.map((line) => truncateToWidth(line.slice(0, columns * 4), columns, "…"));
  }

  /** The first and the last lines as `draw` draws them, and between them how many are folded away. */
  protected folded<Each>(
    this: ChatBlock,
    lines: readonly Each[],
    { fold, open = { head: lines.length, tail: 0 }, indent = "   ", markStyle, draw }: FoldedOptions<Each>,
  ): string[] {
    const { head, folded, tail } = foldedLines(lines, this.isExpanded ? open : fold);
    const { theme, expandKey } = this.looks;
    const mark = () => `${indent}${(markStyle ?? theme.style.dim)(foldMark(folded, expandKey()))}`;
    return [...draw(head), ...(folded > 0 ? [mark()] : []), ...draw(tail)];
  }
}

interface FoldedOptions<Each> {
  fold: FoldOptions;
  /** Where the block is expanded. Default: all lines. */
  open?: FoldOptions;
  /** Of the mark. Default three spaces. */
  indent?: string;
  /** Default dim. */
  markStyle?: Style;
  draw: (part: readonly Each[]) => readonly string[];
}

/** What every block of the chat is drawn with. */
export interface ChatLooks {
  readonly theme: Theme;
  readonly highlighter: CodeHighlighter;
  readonly images: ChatImages;
  /** How extensions draw what is theirs. Default: they do not. */
  readonly drawings?: ChatDrawings | undefined;
  /** What time it is, for what has begun and not ended. */
  readonly now: () => number;
  /** What an extension wants in the place of thinking that is folded. Default: how much of it there is. */
  readonly thinkingLabel?: () => string | undefined;
  /** The name of the key that unfolds, as the user has bound it. */
  readonly expandKey: () => string;
  /** The same of the key that tells where the lines of a summary come from. */
  readonly sourcesKey: () => string;
}
