import { ChatBlock } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { wrapped } from "./chat-text.ts";
import { MarkdownText } from "./markdown-text.ts";
import { type ShownSummary, summaryTitle } from "./shown-summary.ts";

/** What became of a part of the history: one line, and open the whole summary. */
export class SummaryBlock extends ChatBlock {
  readonly #looks: ChatLooks;
  readonly #summary: ShownSummary;

  constructor(summary: ShownSummary, looks: ChatLooks) {
    super();
    this.#summary = summary;
    this.#looks = looks;
  }

  protected lines(width: number): string[] {
    const { style } = this.#looks.theme;
    const title = style.accent(summaryTitle(this.#summary));
    if (!this.isExpanded) return wrapped([`${title} ${style.dim(`(${this.#looks.expandKey()})`)}`], width);
    const { prose, files } = this.#summary;
    const lists = files.flatMap(({ title, paths }) => [
      "",
      ...wrapped([title], width, style.bold),
      ...wrapped(paths, width, style.muted, "   "),
    ]);
    return [...wrapped([title], width), "", ...new MarkdownText(this.#looks).lines(prose, width), ...lists];
  }
}
