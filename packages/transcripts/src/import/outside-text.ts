import { SecretFilter, shortened } from "@bonsai-agent/messages";
import { codeBlock, codeName, codeSpan, foreignMarkdown, htmlText, plainText } from "../markdown/text.ts";

/**
 * The one way into a document for what users, models, tools and files say: secrets are taken out first (afterwards that
 * could take away what ends a piece of code), then the text is made harmless for its place.
 */
export class OutsideText {
  readonly #filter: SecretFilter;

  /** @param known keys that are stored, which are taken out whatever they look like. Default: none */
  constructor(known?: readonly string[]) {
    this.#filter = new SecretFilter(known);
  }

  /** How many were taken out so far. */
  get secrets(): number {
    return this.#filter.count;
  }

  /** Markdown; its titles stay as they are only where the document puts it into a quote. */
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
