import { SecretFilter, shortened } from "@bonsai-agent/messages";
import { codeBlock, codeName, codeSpan, foreignMarkdown, htmlText, plainText } from "./text.ts";

/**
 * Prepares texts of users, models, tools and files for a document: redacts secrets, then makes the text harmless for its
 * place. The redaction comes first, because it could remove the end of code.
 */
export class TextForMarkdown {
  readonly #filter: SecretFilter;

  /** @param known stored keys, which are redacted in any form. Default: none */
  constructor(known?: readonly string[]) {
    this.#filter = new SecretFilter(known);
  }

  /** Number of redacted secrets. */
  get secrets(): number {
    return this.#filter.count;
  }

  /** Markdown. Use "own" headings only inside a quote. */
  markdown(value: unknown, headings: "own" | "below" = "below"): string {
    return foreignMarkdown(this.#redacted(value), headings);
  }

  /** A code block. */
  block(value: unknown, language?: string): string {
    return codeBlock(this.#redacted(value), language);
  }

  /** Inline code, cut after `maxChars`. */
  code(value: unknown, maxChars = Number.POSITIVE_INFINITY): string {
    const text = this.#redacted(value);
    return codeSpan(shortened(text, maxChars));
  }

  /** Inline code in a table, or in a line that is set apart. */
  name(value: unknown): string {
    return codeName(this.#redacted(value));
  }

  /** One line that reads as it is. */
  plain(value: unknown): string {
    return plainText(this.#redacted(value));
  }

  /** Content that is folded away until somebody opens it, under a title of this text. */
  folded(title: unknown, body: string): string {
    return `<details>\n<summary>${htmlText(this.#redacted(title))}</summary>\n\n${body}\n\n</details>`;
  }

  #redacted(value: unknown): string {
    return this.#filter.text(typeof value === "string" ? value : String(value ?? ""));
  }
}
