import { hiddenCharacters } from "@bonsai-agent/messages/host";
import MarkdownIt, { type Token } from "markdown-it";

// Only rules that decide the borders of code and headings. Links, HTML and tables are escaped, so they need no rules. The
// bound on nesting keeps the time linear.
const parser = new MarkdownIt("zero", { maxNesting: 20 }).enable(
  "code fence blockquote hr list heading lheading paragraph backticks escape newline".split(" "),
);

/** Active Markdown: a tag, a link with its address, an image, a definition. */
const active = /<[A-Za-z/!?]|\][(:]|!\[/;
/** The beginning of a line before its text: quotes, bullets, numbers. */
const prefix = /^(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*/;
const tagOrAutolink = /<(?:https?:\/\/|mailto:)[^\s<>"'`\\]*>|<(?=[A-Za-z/!?])/g;
const harmlessScheme = /^(?:https?|mailto):/i;
const fenceLikeStart = /^((?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)(`(?=``)|~(?=~~))/gm;

/** A part of a line: code stays as it is, all else is escaped. */
interface Piece {
  text: string;
  isCode: boolean;
}

/**
 * Makes foreign Markdown harmless for the document around it and keeps harmless Markdown as it is. Escapes tags, images,
 * definitions and links with other schemes than http, https and mailto, except in code, and closes code blocks. A code
 * block that readers may interpret differently becomes a code block of its own.
 *
 * Invariant: time is linear in the text.
 * @param headings "own" leaves them as they are; "below" puts them below the two levels of the document
 */
export function foreignMarkdown(text: string, headings: "own" | "below"): string {
  const lines = wellBehaved(text).split("\n");
  const page = new Page(lines);
  let block = { begin: 0, end: 0 };
  for (const token of parser.parse(lines.join("\n"), {})) {
    const [begin, end] = token.map ?? [0, 0];
    if (token.level === 0 && token.map) block = { begin, end };
    if (token.type === "fence" || token.type === "code_block") settleCode(page, token, block);
    else if (token.type === "heading_open" && headings === "below") lowerHeading(page, token);
    else if (token.type === "inline") settleSpans(page, token);
  }
  return page.text();
}

/** A block of code in a Markdown text. */
export interface CodeBlock {
  /** The text without the fences and the last newline. */
  code: string;
  /** The word after the fence; empty for none. */
  language: string;
}

/** The code blocks of a text in order, also in quotes and lists. Linear. */
export function codeBlocks(text: string): CodeBlock[] {
  return parser
    .parse(text, {})
    .filter(({ type }) => type === "fence" || type === "code_block")
    .map(({ content, info }) => ({ code: content.replace(/\n$/, ""), language: info.trim() }));
}

/** Owner of the lines and their replacements. */
class Page {
  readonly lines: string[];
  /** By line. Default: the whole line is text. */
  readonly pieces = new Map<number, readonly Piece[]>();
  /** Replaced lines, by the first of them. */
  readonly #blocks = new Map<number, { end: number; text: string }>();

  constructor(lines: string[]) {
    this.lines = lines;
  }

  part(begin: number, end: number): string {
    return this.lines.slice(begin, end).join("\n");
  }

  keepCode(begin: number, end: number): void {
    for (let at = begin; at < end; at++) this.pieces.set(at, [{ text: this.lines[at]!, isCode: true }]);
  }

  replace({ begin, end }: { begin: number; end: number }, text: string): void {
    this.#blocks.set(begin, { end, text });
  }

  text(): string {
    let written = "";
    let open = "";
    for (let at = 0; at < this.lines.length; ) {
      const { end, text } = this.#blocks.get(at) ?? { end: at + 1, text: undefined };
      const pieces = this.pieces.get(at) ?? [{ text: this.lines[at]!, isCode: false }];
      for (const piece of text === undefined ? pieces : [{ text, isCode: true }]) {
        if (piece.isCode) {
          written += escaped(open) + piece.text;
          open = "";
        } else open += piece.text;
      }
      at = Math.max(end, at + 1);
      if (at < this.lines.length) open += "\n";
    }
    return written + escaped(open);
  }
}

function settleCode(page: Page, token: Token, block: { begin: number; end: number }): void {
  const [begin, mapped] = token.map!;
  const end = withoutBlankEnd(page.lines, begin, mapped);
  const isTop = token.level === 0;
  const isOpen = isTop && token.type === "fence" && !closes(page.lines[end - 1]!, token.markup, end - begin);
  const isActive = active.test(page.part(begin, end));
  const isSure = !isActive || (!isTop && isRegular(page.lines.slice(begin, end), token));
  if (isSure && !isOpen) page.keepCode(begin, end);
  else if (isTop) {
    const isPlain = /^[\w+#.-]{0,40}$/.test(token.info.trim());
    const code = isPlain ? codeBlock(token.content, token.info.trim()) : codeBlock(page.part(begin, end));
    page.replace({ begin, end }, code);
  } else {
    const whole = { begin: block.begin, end: withoutBlankEnd(page.lines, block.begin, block.end) };
    page.replace(whole, codeBlock(page.part(whole.begin, whole.end)));
  }
}

function withoutBlankEnd(lines: readonly string[], begin: number, end: number): number {
  let at = end;
  while (at > begin + 1 && lines[at - 1]!.trim() === "") at -= 1;
  return at;
}

function closes(line: string, markup: string, count: number): boolean {
  const run = /^ {0,3}(`+|~+)[ \t]*$/.exec(line)?.[1] ?? "";
  return count > 1 && run.length >= markup.length && run[0] === markup[0];
}

/** True for a fence in a list or quote with one indentation throughout: all readers agree on its end. */
function isRegular([first = "", ...lines]: readonly string[], { type, markup, info }: Token): boolean {
  const own = prefix.exec(first)![0];
  if (type !== "fence" || own.includes("\t") || !/^[\w+#.-]*$/.test(info)) return false;
  const before = own.replaceAll(/[^> ]/g, " ");
  const code = lines.slice(0, -1);
  return (
    lines.at(-1) === before + markup &&
    code.every((line) => line.startsWith(before) || (line.trim() === "" && !before.includes(">")))
  );
}

/** Turns `# Title` into `### Title` and removes an underline, so that the document keeps its own levels. */
function lowerHeading(page: Page, { map, markup }: Token): void {
  const [begin, end] = map!;
  const line = page.lines[begin]!;
  const before = prefix.exec(line)![0];
  if (markup.startsWith("#")) {
    const level = "#".repeat(Math.min(6, markup.length + 2));
    page.lines[begin] = `${before}${level}${line.slice(before.length + markup.length)}`;
    return;
  }
  const last = withoutBlankEnd(page.lines, begin, end) - 1;
  const underline = page.lines[last]!;
  const at = underline.length - /[=-]+[ \t]*$/.exec(underline)![0].length;
  // An empty line follows, because the next line may be an underline too.
  page.lines[last] = `${underline.slice(0, at)}\\${underline.slice(at)}\n`;
}

/** Keeps inline code with active Markdown only if all readers see the same code. */
function settleSpans(page: Page, { map, children }: Token): void {
  const spans = (children ?? []).filter(({ type }) => type === "code_inline");
  if (map === null || !spans.some(({ content }) => active.test(content))) return;
  const [begin, end] = map;
  const rows = page.lines.slice(begin, end).map(spansOf);
  const found = rows.flat().filter(({ isCode }) => isCode);
  const isSure =
    found.length === spans.length &&
    found.every(({ text }, at) => isSpan(text, spans[at]!)) &&
    rows.flat().every(({ text, isCode }) => (isCode ? !text.includes("|") : isSureText(text))) &&
    rows.every(([first]) => !fenceLike.test(first?.text.slice(prefix.exec(first.text)![0].length) ?? ""));
  rows.forEach((pieces, at) => {
    const sure = isSure ? pieces : [{ text: page.lines[begin + at]!, isCode: false }];
    // A tick outside of code must not begin code for another reader.
    const inert = sure.map((each) =>
      each.isCode ? each : { ...each, text: each.text.replaceAll("`", "&#96;") },
    );
    page.pieces.set(begin + at, inert);
  });
}

const fenceLike = /^(?:```|~~~)/;
/** A text that could consume the ticks after it: a backslash, or the address and title of a link. */
const unsureText = /\\$|\]\((?![^\s()"'<>`\\]*\))/;

/** False for a text that could consume the ticks after it, as a bare address does for some readers. */
function isSureText(text: string): boolean {
  let begin = text.length;
  while (begin > 0 && !/\s/.test(text[begin - 1]!)) begin -= 1;
  return !unsureText.test(text) && !/:\/\/|www\./i.test(text.slice(begin));
}

/** Splits a line into text and code by its runs of ticks. */
function spansOf(line: string): Piece[] {
  const runs = [...line.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ index, length }));
  const last = new Map(runs.map(({ length }, at) => [length, at]));
  const pieces: Piece[] = [];
  let done = 0;
  for (let at = 0; at < runs.length; at++) {
    const { index, length } = runs[at]!;
    if (last.get(length)! <= at) continue;
    do at += 1;
    while (runs[at]!.length !== length);
    const end = runs[at]!.index + length;
    pieces.push(
      { text: line.slice(done, index), isCode: false },
      { text: line.slice(index, end), isCode: true },
    );
    done = end;
  }
  pieces.push({ text: line.slice(done), isCode: false });
  return pieces;
}

function isSpan(text: string, { markup, content }: Token): boolean {
  const inner = text.slice(markup.length, -markup.length);
  return text.startsWith(markup) && (inner === content || inner === ` ${content} `);
}

function escaped(text: string): string {
  return text
    .replace(tagOrAutolink, (found) => (found === "<" ? "&lt;" : found))
    .replace(/!(?=\[)/g, (mark, at: number, whole: string) => (isEscaped(whole, at) ? mark : "&#33;"))
    .replace(/\](?=[(:])/g, (mark, at: number, whole: string) =>
      isEscaped(whole, at) || leadsSomewhereHarmless(whole, at + 1) ? mark : "\\]",
    )
    .replace(fenceLikeStart, (_, before: string, mark: string) => `${before}&#${mark.charCodeAt(0)};`);
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before -= 1;
  return (at - before) % 2 === 1;
}

/** True if the address in the parentheses at this place is relative or has a harmless scheme, in every decoding. */
function leadsSomewhereHarmless(text: string, at: number): boolean {
  if (text[at] !== "(") return false;
  let begin = at + 1;
  while (begin < text.length && /[\s<>]/.test(text[begin]!)) begin += 1;
  const address = text.slice(begin, begin + 400).replaceAll(/[\s\\]/g, "");
  if (harmlessScheme.test(address)) return true;
  const first = /^[^/?#()"']*/.exec(address)![0];
  return !/[:&]/.test(first) && first.length < 200;
}

/** Makes control characters visible and unifies line ends, so that all readers see the same lines. */
function wellBehaved(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, "\n")
    .replaceAll(controls, (control) => {
      const code = control.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
    })
    .replaceAll(hiddenCharacters, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

function oneLine(text: string): string {
  return wellBehaved(text).replaceAll(/\s+/g, " ").trim();
}

/** A code block whose fence is longer than all fences in the text. */
export function codeBlock(text: string, language = ""): string {
  const code = wellBehaved(text).replace(/\n$/, "");
  const fence = "`".repeat(Math.max(3, longestRun(code) + 1));
  return `${fence}${language}\n${code}\n${fence}`;
}

/** One line of text as inline code. */
export function codeSpan(text: string): string {
  const line = oneLine(text);
  const ticks = "`".repeat(longestRun(line) + 1);
  const pad = line.startsWith("`") || line.endsWith("`") || line === "" ? " " : "";
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** Inline code for tables and emphasis, where readers differ about bars, stars and ticks. */
export function codeName(text: string): string {
  if (/^[\w ./:@+-]+$/.test(text)) return codeSpan(text);
  const html = htmlText(text).replaceAll(/[*_~[\]]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  return `<code>${html}</code>`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}

/** A name, a label or a message on one line, with its Markdown escaped. */
export function plainText(text: string): string {
  return oneLine(text)
    .replaceAll(/[\\`*[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<![^ ])#/g, "\\$&")
    .replaceAll(/&(?=[A-Za-z#])/g, "&amp;")
    .replaceAll("<", "&lt;");
}

/** One line of text inside an HTML element, with its Markdown escaped. */
export function htmlText(text: string): string {
  return oneLine(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[`\\|]|!(?=\[)|\](?=[(:[])/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

export function quoted(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}
