import type { HLJSApi } from "highlight.js";
import type { StyleName, Theme } from "../terminal/theme.ts";

type Styles = Theme["style"];

/** Colours of larger blocks would delay keys. */
const MAX_HIGHLIGHTED_CHARS = 20_000;

/** Colours code. Loads its library with the first code, so that the start stays fast. */
export class CodeHighlighter {
  readonly #onReady: () => void;
  #library: HLJSApi | undefined;
  #isLoading = false;

  /** @param onReady called when plain code can be redrawn with colours */
  constructor(onReady: () => void) {
    this.#onReady = onReady;
  }

  /** Returns plain lines until the library is loaded, and for unknown languages. */
  lines(code: string, language: string | undefined, style: Styles): string[] {
    const name = language?.trim().split(/[\s,{]/)[0] ?? "";
    if (name === "" || code.length > MAX_HIGHLIGHTED_CHARS) return code.split("\n");
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

/** Turns the highlighter's HTML into styled lines. A piece gets the style of its innermost scope. */
export function styledLines(html: string, style: Styles): string[] {
  const lines = [""];
  const scopes: string[] = [];
  for (const [piece, opened] of html.matchAll(/<span class="(?:hljs-|language-)?([^"]*)">|<\/span>|[^<]+/g)) {
    if (opened !== undefined) scopes.push(opened);
    else if (piece === "</span>") scopes.pop();
    else {
      const name = looks.get(scopes.at(-1)?.split(/[_. ]/)[0] ?? "");
      for (const [at, part] of unescaped(piece).split("\n").entries()) {
        if (at > 0) lines.push("");
        if (part !== "") lines[lines.length - 1] += name === undefined ? part : style[name](part);
      }
    }
  }
  return lines;
}

/** Styles by the first word of a scope. */
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

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

function unescaped(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => entities[entity] ?? entity);
}
