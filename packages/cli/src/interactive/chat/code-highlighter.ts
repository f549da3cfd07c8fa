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

/** Splits the highlighter's HTML into pieces with their innermost scope. */
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
