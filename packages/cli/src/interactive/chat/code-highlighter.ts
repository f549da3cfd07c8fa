import type { HLJSApi } from "highlight.js";
import type { StyleName, Theme } from "../terminal/theme.ts";

type Styles = Theme["style"];

/** A larger block is data; colours would take longer than a key may. */
const MAX_HIGHLIGHTED_CHARS = 20_000;

/** Gives code its colours. The library is loaded when the first code is to be seen, so that the start is not slowed. */
export class CodeHighlighter {
  readonly #onReady: () => void;
  #library: HLJSApi | undefined;
  #isLoading = false;

  /** @param onReady code that was shown plain can be shown anew */
  constructor(onReady: () => void) {
    this.#onReady = onReady;
  }

  /** Plain lines as long as the library is not there, and for languages that it does not know. */
  lines(code: string, language: string | undefined, style: Styles): string[] {
    const name = language?.trim().split(/[\s,{]/)[0] ?? "";
    if (name === "" || code.length > MAX_HIGHLIGHTED_CHARS) return code.split("\n");
    // Where it cannot be loaded, code stays plain, which is no failure.
    if (this.#library === undefined) this.load().catch(() => {});
    if (this.#library?.getLanguage(name) === undefined) return code.split("\n");
    return styledLines(this.#library.highlight(code, { language: name, ignoreIllegals: true }).value, style);
  }

  async load(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    const { default: library } = await import("highlight.js/lib/common");
    this.#library = library;
    this.#onReady();
  }
}

/** Each line has its looks opened and closed. */
function styledLines(html: string, style: Styles): string[] {
  const lines = [""];
  for (const { text, scope } of codeSpans(html)) {
    const name = looks.get(scope?.split(/[_. ]/)[0] ?? "");
    text.split("\n").forEach((part, at) => {
      if (at > 0) lines.push("");
      if (part !== "") lines[lines.length - 1] += name === undefined ? part : style[name](part);
    });
  }
  return lines;
}

/** By the first word of a scope. */
const looks: ReadonlyMap<string, StyleName> = new Map<string, StyleName>([
  ["keyword", "syntaxKeyword"],
  ["built", "syntaxKeyword"],
  ["selector-tag", "syntaxKeyword"],
  ["name", "syntaxKeyword"],
  ["string", "syntaxString"],
  ["regexp", "syntaxString"],
  ["addition", "toolDiffAdded"],
  ["comment", "syntaxComment"],
  ["quote", "syntaxComment"],
  ["meta", "syntaxComment"],
  ["number", "syntaxNumber"],
  ["literal", "syntaxNumber"],
  ["symbol", "syntaxNumber"],
  ["title", "syntaxFunction"],
  ["section", "syntaxFunction"],
  ["type", "syntaxType"],
  ["attr", "syntaxVariable"],
  ["attribute", "syntaxVariable"],
  ["variable", "syntaxVariable"],
  ["operator", "syntaxOperator"],
  ["punctuation", "syntaxPunctuation"],
  ["deletion", "toolDiffRemoved"],
]);

/** A piece of code and what it is, in the highlighter's word. */
interface CodeSpan {
  text: string;
  scope: string | undefined;
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** The highlighter's HTML as pieces, each with the innermost scope that it stands in. */
export function codeSpans(html: string): CodeSpan[] {
  const spans: CodeSpan[] = [];
  const scopes: string[] = [];
  for (const [piece, opened] of html.matchAll(/<span class="([^"]*)">|<\/span>|[^<]+/g)) {
    if (opened !== undefined) scopes.push(opened.replace(/^(hljs-|language-)/, ""));
    else if (piece === "</span>") scopes.pop();
    else spans.push({ text: unescaped(piece), scope: scopes.at(-1) });
  }
  return spans;
}

function unescaped(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => entities[entity] ?? entity);
}
