import DOMPurify from "dompurify";
import { Lexer, Marked, Renderer, type Token, type Tokens, type TokensList } from "marked";
import { useMemo } from "preact/hooks";
import { escaped, highlighted } from "./highlight.ts";
import { PlainText, stripMarkPiles } from "./long-text.tsx";

/**
 * The one place where text of a session becomes HTML: Markdown without raw HTML, then sanitised. Links lead to the web or
 * to a mailbox, and only when they are clicked; no image is fetched: it is shown as a link with its text.
 */
const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    image: ({ href, text }: Tokens.Image) => link(href, `image: ${text || href}`),
    link({ href, tokens }: Tokens.Link) {
      return isAllowed(href)
        ? anchor(href, this.parser.parseInline(tokens))
        : this.parser.parseInline(tokens);
    },
    code: ({ text, lang }: Tokens.Code) =>
      `<pre><code class="hljs">${highlighted(text, lang ?? "")}</code></pre>`,
    // Drawn, for fonts lack the signs.
    checkbox: ({ checked }: Tokens.Checkbox) =>
      `<span class="task${checked ? " done" : ""}" role="img" aria-label="${checked ? "done" : "open"}"></span> `,
    table(token: Tokens.Table) {
      const html = Renderer.prototype.table.call(this, token);
      return `<div class="table" role="group" aria-label="Table" tabindex="0">${html}</div>`;
    },
  },
});

const allowedTags = [
  ..."p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a span div".split(" "),
  ..."table thead tbody tr th td".split(" "),
];

/** A longer text is shown as it is: parsing it would block the page. */
const MAX_CHARS = 200_000;
/**
 * Bounds of the parser's work, about 0.2 seconds each: it searches the rest of the text for the end of each mark, and the rest
 * of a block for each of its lines.
 */
const MAX_MARK_WORK = 4_000_000;
const MAX_BLOCK_WORK = 100_000_000;
/** Cost of a block beside its lines, in lines: a thousand nested blocks would use the whole budget. */
const LINES_OF_A_BLOCK = 50;
/** Maximum number of table cells: the browser compares each with all others of its column. */
const MAX_CELLS = 8_000;
const marks = /[*_~`[\]<\\&@]|:\/\/|www\./g;

/** Parses one text within bounds. Marks beyond them stay text. */
class BoundedLexer extends Lexer<string, string> {
  #markWork = 0;
  #blockWork = 0;

  /** @throws {Error} beyond the bounds: the whole text is then plain */
  override blockTokens(src: string, tokens?: Token[], lastParagraphClipped = false): TokensList {
    this.#blockWork += src.length * (LINES_OF_A_BLOCK + countOf(/\n/g, src));
    if (this.#blockWork > MAX_BLOCK_WORK) throw new Error("The text has too many lines or levels.");
    return super.blockTokens(src, tokens, lastParagraphClipped) as TokensList;
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    const work = src.length * countOf(marks, src);
    if (this.#markWork + work > MAX_MARK_WORK) {
      tokens.push({ type: "text", raw: src, text: src, escaped: false });
      return tokens;
    }
    this.#markWork += work;
    return super.inlineTokens(src, tokens);
  }
}

function countOf(pattern: RegExp, text: string): number {
  return text.match(pattern)?.length ?? 0;
}

/** @param isOpen true if a hit was found in it */
export function Markdown({ text, isOpen }: { text: string; isOpen: boolean }) {
  const html = useMemo(() => (isReadable(text) ? safeHtml(stripMarkPiles(text)) : undefined), [text]);
  if (html === undefined) return <PlainText text={text} isOpen={isOpen} />;
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}

function isReadable(text: string): boolean {
  return text.length <= MAX_CHARS && countOf(/\|/g, text) <= MAX_CELLS;
}

function safeHtml(text: string): string | undefined {
  try {
    const html = marked.parser(new BoundedLexer(marked.defaults).lex(text));
    return DOMPurify.sanitize(html, {
      ALLOWED_TAGS: allowedTags,
      ALLOWED_ATTR: ["href", "class", "rel", "target", "start", "align", "role", "aria-label", "tabindex"],
      ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
      // Attributes without an address need not look like one.
      ADD_URI_SAFE_ATTR: ["rel", "target", "start", "align", "tabindex"],
      ALLOW_DATA_ATTR: false,
    });
  } catch {
    // Text that the renderer cannot read is shown as it is.
    return undefined;
  }
}

function link(href: string, text: string): string {
  return isAllowed(href) ? anchor(href, escaped(text)) : escaped(text);
}

function anchor(href: string, html: string): string {
  return `<a href="${escaped(href)}" rel="noopener noreferrer nofollow" target="_blank">${html}</a>`;
}

function isAllowed(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)/i.test(href.trim());
}
