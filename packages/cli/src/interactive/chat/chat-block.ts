import { counted } from "../../views/numbers.ts";
import type { ChatDrawings } from "../extension-views/chat-drawings.ts";
import { fittedLines } from "../terminal/fitted-lines.ts";
import { keys } from "../terminal/keys.ts";
import type { Style, Theme } from "../terminal/theme.ts";
import { type Component, truncateToWidth } from "../terminal/tui.ts";
import type { ChatImages } from "./chat-images.ts";
import { wrapped } from "./chat-text.ts";
import type { CodeHighlighter } from "./code-highlighter.ts";

export interface ChatLooks {
  readonly theme: Theme;
  readonly highlighter: CodeHighlighter;
  readonly images: ChatImages;
  /** The drawings of extensions. Default: none. */
  readonly drawings?: ChatDrawings | undefined;
  readonly now: () => number;
  /** An extension's text for folded thinking. Default: the number of lines. */
  readonly thinkingLabel?: () => string | undefined;
}

const maskedTexts = {
  whole: "masked: the model does not see this output",
  part: "shortened: the model sees only a part",
  hidden: "hidden: the model does not see this",
} as const;

/** The way in which the model does not see an output. */
export type Masked = keyof typeof maskedTexts;

/**
 * A block of the chat, below an empty line.
 *
 * Invariant: an unchanged block returns the same array for the same width, and no line is wider than that.
 */
export abstract class ChatBlock<Looks extends Pick<ChatLooks, "theme"> = ChatLooks> implements Component {
  protected readonly looks: Looks;
  #lines: string[] | undefined;
  #width = -1;
  #rows = -1;
  #isExpanded = false;
  #masked: Masked | undefined;

  constructor(looks: Looks) {
    this.looks = looks;
  }

  get isExpanded(): boolean {
    return this.#isExpanded;
  }

  expand(isExpanded: boolean): void {
    if (isExpanded === this.#isExpanded) return;
    this.#isExpanded = isExpanded;
    this.changed();
  }

  /** Marks the output as hidden from the model. The user still sees it. */
  mask(how: Masked): void {
    this.#masked = how;
    this.changed();
  }

  protected get hidesOutput(): boolean {
    return this.#masked === "whole" && !this.#isExpanded;
  }

  protected maskedLines(width: number): string[] {
    if (this.#masked === undefined) return [];
    const key = this.hidesOutput ? ` (${keys.label("expand")})` : "";
    return wrapped([`${maskedTexts[this.#masked]}${key}`], width, this.looks.theme.style.muted, "   ");
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

  invalidate(): void {
    this.changed();
  }

  /** The terminal's rows, if the lines depend on them. */
  protected get rows(): number {
    return 0;
  }

  protected changed(): void {
    this.#lines = undefined;
  }

  /** Overridden if the lines fit already: measuring a long text again with each word takes long. */
  protected fitted(lines: string[], width: number): string[] {
    return fittedLines(lines, width);
  }

  /** Draws the block; no lines if there is nothing to see. */
  protected abstract lines(width: number): string[];

  /** Cuts each line to a number of rows, unless the block is expanded: a minified file is one line of a megabyte. */
  protected cut(lines: readonly string[], width: number, rows = 1): readonly string[] {
    if (this.isExpanded) return lines;
    const columns = Math.max(1, width - 3) * rows;
    return lines.map((line) => truncateToWidth(line.slice(0, columns * 4), columns, "…"));
  }

  /** Draws the first and the last lines, and between them the number of folded ones. */
  protected folded<Each>(
    lines: readonly Each[],
    { fold, open = { head: lines.length, tail: 0 }, indent = "   ", markStyle, draw }: FoldedOptions<Each>,
  ): string[] {
    const { head, tail } = this.isExpanded ? open : fold;
    const count = lines.length - head - tail;
    // A single line is not folded.
    if (count <= 1) return [...draw(lines)];
    const style = markStyle ?? this.looks.theme.style.dim;
    const mark = indent + style(`… ${counted(count, "more line")} (${keys.label("expand")})`);
    return [...draw(lines.slice(0, head)), mark, ...draw(tail === 0 ? [] : lines.slice(-tail))];
  }
}

interface FoldOptions {
  head: number;
  tail: number;
}

interface FoldedOptions<Each> {
  fold: FoldOptions;
  /** For the expanded block. Default: all lines. */
  open?: FoldOptions;
  /** Before the mark. Default three spaces. */
  indent?: string;
  /** Default dim. */
  markStyle?: Style;
  draw: (part: readonly Each[]) => readonly string[];
}

/** Says below a message that the model does not see it. */
export class HiddenMark extends ChatBlock<Pick<ChatLooks, "theme">> {
  constructor(looks: Pick<ChatLooks, "theme">) {
    super(looks);
    this.mask("hidden");
  }

  protected lines(width: number): string[] {
    return this.maskedLines(width);
  }
}
