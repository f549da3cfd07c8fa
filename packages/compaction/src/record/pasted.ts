import { shortened, textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import { counted } from "@bonsai-agent/messages/numbers";
import { tellingLine } from "./error-line.ts";

/** A pasted part of a text: a fence, a tag, a diff, a quote, or lines that look like output, code or data. */
interface Block {
  from: number;
  /** The index after its last line. */
  to: number;
  kind: string;
  /** The name in the attributes of an opening tag. */
  name?: string | undefined;
  /** Without the marks of a fence or tag. */
  body: readonly string[];
  /** The user's words in the lines of these marks. */
  before?: string;
  after?: string;
}

/**
 * Replaces each pasted block of a person's text by one line with its kind and size. Finds blocks by their shape, in any
 * language. Keeps short blocks. Keeps only head and tail of a text that is too long to be typed.
 */
export function withoutPastes(text: string): string {
  const lines = text.replaceAll(/\r\n?/g, "\n").split("\n");
  const own: string[] = [];
  let from = 0;
  for (const block of blocksIn(lines)) {
    own.push(...lines.slice(from, block.from).map(withoutMass));
    own.push(...(isShort(block) ? lines.slice(block.from, block.to) : markLines(block)));
    from = block.to;
  }
  own.push(...lines.slice(from).map(withoutMass));
  return withoutMiddle(own.join("\n"));
}

function blocksIn(lines: readonly string[]): Block[] {
  const frames = framesIn(lines);
  const starts = [0, ...frames.map(({ to }) => to)];
  return starts.flatMap((from, at) => [
    ...runsIn(lines, from, frames[at]?.from ?? lines.length),
    ...frames.slice(at, at + 1),
  ]);
}

/** A short block may be a command, or an exact text that the user asks for. */
function isShort({ body }: Block): boolean {
  return body.length <= 3 && body.join("\n").length <= 200;
}

function markLines({ kind, name, body, before = "", after = "" }: Block): string[] {
  const hint = hintOf(name ?? tellingLine(body));
  const mark = `${PASTED}${kind}, ${sizeOf(body.join("\n"))}${hint === "" ? "" : `: ${hint}`}]`;
  return [before, mark, after].filter((line) => line !== "");
}

/** The start of the line that replaces a pasted block. */
export const PASTED = "[pasted: ";

/** The line that replaces a file that was sent with a text. */
export function fileMark(path: string, content: string): string {
  return `[file ${hintOf(path)}, ${sizeOf(content)}]`;
}

function sizeOf(text: string): string {
  const lines = text.split("\n").length;
  return lines > 1 ? counted(lines, "line") : counted(text.length, "character");
}

/** Joins the text into one line with single spaces. */
function hintOf(text: string): string {
  return shortened(textHead(text, 400).replace(/\s+/g, " ").trim(), 80);
}

const MAX_CHARS = 6_000;
const EDGE_CHARS = 2_000;

/** Keeps head and tail of a text that is too long to be typed. */
function withoutMiddle(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const head = sentenceEnd(text, EDGE_CHARS - 300);
  const tail = sentenceEnd(text, text.length - EDGE_CHARS);
  const [middle = ""] = markLines({
    from: 0,
    to: 0,
    kind: "text",
    body: text.slice(head, tail).trim().split("\n"),
  });
  return [text.slice(0, head).trimEnd(), middle, text.slice(tail).trimStart()].join("\n");
}

/** The end of the first sentence or line within 300 characters after `from`, in any script; else `from`. */
function sentenceEnd(text: string, from: number): number {
  const end = text.slice(from, from + 300).search(/[.!?…](?=\s)|[。！？｡।؟۔]|\n/);
  if (end >= 0) return from + end + 1;
  return /[\udc00-\udfff]/.test(text[from] ?? "") ? from - 1 : from;
}

/** Cuts a long line of data (minified, base64) to the words at its ends. */
function withoutMass(line: string): string {
  if (line.length <= 400) return line;
  const { chars, wordChars } = measure(line.slice(0, 2_000));
  if (wordChars >= 0.5 * chars) return line;
  const head = typedChars(textHead(line, 300).match(/\S+\s*|\s+/g) ?? []);
  const tail = typedChars((textTail(line, 300).match(/\s*\S+|\s+$/g) ?? []).reverse());
  const mass = line.slice(head, line.length - tail);
  return `${line.slice(0, head)}${PASTED}data, ${counted(mass.length, "character")}]${line.slice(line.length - tail)}`;
}

/** The length of the tokens before the first one that a person hardly types, in characters. */
function typedChars(tokens: readonly string[]): number {
  const end = tokens.findIndex((token) => token.length > 60 || /[[\]{}<>=;|]|\d{6}|",/.test(token));
  return tokens.slice(0, end < 0 ? undefined : end).join("").length;
}

/** The shapes of lines, scored by how likely the line was pasted, 0 to 1. */
const pasteScores = {
  blank: 0,
  /** A sentence, a list item or an exclamation. */
  own: 0,
  /** Belongs to the lines around it. */
  either: 0,
  /** Hardly any words: a path, a name, a command, a value. */
  unsure: 0.3,
  key: 0.6,
  code: 1,
  /** A form that only programs write. */
  output: 1,
} as const;

type LineShape = keyof typeof pasteScores;

/** Finds the runs of lines that look pasted, with undecided lines between them. */
function runsIn(lines: readonly string[], start: number, end: number): Block[] {
  const shapes = lineShapes(lines.slice(start, end));
  const runs: { from: number; to: number }[] = [];
  let isOpen = false;
  shapes.forEach((shape, at) => {
    if (shape === "own") isOpen = false;
    if (pasteScores[shape] === 0) return;
    const run = runs.at(-1);
    if (isOpen && run !== undefined && isJoined(shapes, run.to, at)) run.to = at + 1;
    else runs.push({ from: at, to: at + 1 });
    isOpen = true;
  });
  return runs.flatMap(({ from, to }) => {
    const body = lines.slice(start + from, start + to);
    const run = shapes.slice(from, to);
    const kind = run.filter((shape) => shape === "output").length * 2 >= run.length ? "output" : "code";
    return isPaste(run, body) ? [{ from: start + from, to: start + to, kind, body }] : [];
  });
}

/** A paste may contain blank lines. The user typed a command, path or short list in a paragraph between two pastes. */
function isJoined(shapes: readonly LineShape[], from: number, to: number): boolean {
  const gap = shapes.slice(from, to);
  if (!gap.includes("blank")) return gap.length <= 5;
  const isSure = [shapes[from - 1]!, shapes[to]!].every((shape) => pasteScores[shape] >= pasteScores.key);
  return isSure && gap.length <= 2 && gap.every((shape) => shape === "blank");
}

/** Fewer than four sure or thirteen unsure lines stay: they may be a request, an example or a list. */
function isPaste(shapes: readonly LineShape[], body: readonly string[]): boolean {
  const weight = shapes.reduce((sum, shape) => sum + pasteScores[shape], 0);
  return body.length > 1 && (weight >= 3.89 || body.join("").length > 1_000);
}

const MAX_READ_CHARS = 200;

/** The shape of each line. Its neighbours can change it. */
function lineShapes(lines: readonly string[]): LineShape[] {
  const heads = lines.map((line) => line.slice(0, MAX_READ_CHARS).trimEnd());
  let above: LineShape = "blank";
  return heads.map((head, at) => {
    if (head === "") return "blank";
    const [before = "", after = ""] = [heads[at - 1], heads[at + 1]];
    let shape = isTableRow(head) && (isTableRow(before) || isTableRow(after)) ? "output" : shapeOf(head);
    // Words indented under a pasted line are a message, a docstring or a comment. Programs also repeat lines.
    const isUnder = pasteScores[above] >= pasteScores.key && indentOf(head) >= (before === "" ? 4 : 2);
    if ((isUnder || head === before || head === after) && pasteScores[shape] < pasteScores.key) shape = "key";
    above = shape;
    return shape;
  });
}

/** True for two or more gaps (tabs, or two spaces and more) or commas without a space. */
function isTableRow(head: string): boolean {
  const gaps = head.trimStart().match(/[^\s.!?:,](?: {2,}|\t+)(?=\S)|[,;](?=[^\s,;])/g) ?? [];
  return gaps.length >= 2 && !listItem.test(head);
}

/** In spaces; a tab counts as four. The user may have typed list items at any depth: they have 0. */
function indentOf(head: string): number {
  return listItem.test(head) ? 0 : /^[ \t]*/.exec(head)![0].replaceAll("\t", "    ").length;
}

/** The shape of a line without its neighbours. */
function shapeOf(head: string): LineShape {
  if (programLine.test(head)) return "output";
  const item = listItem.exec(head);
  if (item !== null) {
    const text = head.slice(item[0].length);
    // An item that starts with a key may be part of a pasted list of values.
    return measure(text).plain >= 1 && !/^[\w./-]+:(?:\s|$)/.test(text) ? "own" : "either";
  }
  const { chars, wordChars, tokens, plain } = measure(head);
  if (plain >= 3 && (plain >= 0.6 * tokens || wordChars >= 0.6 * chars)) return "own";
  if (codeLine.test(head)) return "code";
  if (keyLine.test(head)) return "key";
  // A person may type paths, names and commands, but hardly many digits and signs.
  if (plain < 0.5 * tokens && wordChars < 0.5 * chars)
    return (head.match(/[^\p{L}\p{M}\s]/gu)?.length ?? 0) >= 12 ? "code" : "unsure";
  const isSentence = /[!?！？。؟।…]$/.test(head) || (plain >= 2 && plain === tokens);
  return isSentence && !/^\s/.test(head) ? "own" : "either";
}

const level = "(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)";

/** Line starts that programs write: a time, a level, a location, a stack frame, a border, a tag, a comment. */
const programLine = new RegExp(
  [
    /\W?\d{4}[-/.]\d\d[-/.]\d\d[T ,]+\d\d:\d\d|\W?\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}:\d\d/,
    /[[(]?\d\d:\d\d:\d\d\b|\[ *\d{1,9}[:/.]\d\d|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d /,
    new RegExp(`\\S{0,30} ?\\[?${level}(?:\\]|:| \\||  )|npm (?:ERR!|WARN|error|warn)(?: |$)`),
    /\s*[^\s(]+(?::\d+:(?:\d+|in)\b|\(\d+,\d+\))|\s*(?:at|from|-->|File) \S.*[:(,].*\d|\s+at \S+\(/,
    /(?:Uncaught |Exception in thread ".*" )?[\w.$:]{0,80}(?:Error|Exception)(?:\[\w+\])?(?:: |$)|Traceback |Caused by: /,
    /[dlbcps-][rwxsStT-]{9}[@+.]? |commit [\da-f]{7,40}\b|(?:Author|Date|Merge): {1,8}\S|(?=[a-f]*\d)[\da-f]{7,12} \S/,
    /[\w.-]{1,40} +\| |[^|]+ \| [^|]+ \| [^|]|\s*\|.*\|$|\s*\d* \|(?: |$)|\s*[-+|=:]{5,}[-+|=: ]*$/,
    /.{0,40}(?:[├└│┌┐┘┤╔╚║]|[─━═▀▄█░▒▓]{3})|\s+[●✓✕×✗✔❯√] ?\S|\s+[\^~]+$|[\da-f]{4,8}:? {1,2}(?:[\da-f]{2,4} {1,2}){4}/,
    /(?:\s+<[A-Za-z!?/]|<[!?]|<[\w:.-]+\s)[^<>]*>(?:.*>)?$|\s*(?:\/\/|\/\*|\*\/|#include|#!|`{3}|~{3})/,
  ]
    .map(({ source }) => `^(?:${source})`)
    .join("|"),
);
const codeLine =
  /(?:[{([]|[\])}=:.$"'].*;)$|=>|^\s*[\])}]+[;,)]*$|^\s*\{?\s*"[^"]+"\s*:|^\s*@\w+(?:\(.*\))?$|^\s*(?:const|let|var|def|class|func|fn|function|public|private|static|return|import|from|export|package|use|struct|enum|impl|interface|type)\b.*[(){}=<>;"']/;
const keyLine =
  /^\s*(?:export )?[\w$.-]+ ?[:+]?= ?\S|^\s+[\w.$/'-]+:(?:\s|$)|^(?:\S{1,40}@\S{1,60} ?)?[$❯➜»%] \S|^\[[\w.-]+\]$/;
const listItem =
  /^\s{0,20}(?:[-*+•·–—▪◦‣]|\(?\d{1,3}[.)](?!\d)|\(?\p{L}{1,3}[.)](?=\s)|[\p{L}\p{N}]{1,3}[、）]|[(（][\p{L}\p{N}]{1,3}[)）])\s{0,4}(?:\[[ xX]\]\s)?(?=\S)/u;

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}ー、。，「」：？！；]/gu;
/** Letters, with apostrophes or hyphens inside, and sentence punctuation around them. */
const plainWord =
  /^[("'“”„«‹‘¿¡*_]{0,3}[\p{L}\p{M}]+(?:(?:['’\-\u05f3\u05f4"]|\u200c|\u200d)[\p{L}\p{M}]+){0,4}[.,;:!?…)"'”“»›’*_،؛؟।॥״׳]{0,4}$/u;

/** Measures the plain words of a text, in any language. Two letters of a script without spaces count as one word. */
function measure(text: string) {
  const size = { chars: 0, wordChars: 0, tokens: 0, plain: 0 };
  for (const token of text.match(/\S+/g) ?? []) {
    const letters = /^[\0-\x7f]*$/.test(token) ? 0 : (token.match(unspaced)?.length ?? 0);
    const isPlain = token.length <= 60 && plainWord.test(token) && !/\p{Ll}\p{Lu}/u.test(token);
    size.chars += token.length;
    size.wordChars += letters > 0 ? letters : isPlain ? token.length : 0;
    size.tokens += letters > 0 ? letters / 2 + 0.5 : 1;
    size.plain += letters > 0 ? letters / 2 : isPlain ? 1 : 0;
  }
  return size;
}

/** The fences, tags, diffs and quotes of a text, in order, including short ones. */
function framesIn(lines: readonly string[]): Block[] {
  const marked = new Map([...tagsIn(lines), ...fencesIn(lines)]);
  const frames: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const frame = marked.get(at) ?? diffAt(lines, at) ?? quoteAt(lines, at);
    if (frame !== undefined) frames.push(frame);
    at = frame?.to ?? at + 1;
  }
  return frames;
}

/** The fences by their first line. Ignores an unclosed fence. A mark with a language always opens a new fence. */
function fencesIn(lines: readonly string[]): Map<number, Block> {
  const fences = new Map<number, Block>();
  let open: { at: number; mark: string; kind: string; before: string } | undefined;
  lines.forEach((line, from) => {
    if (line.length > 400 || !(line.includes("```") || line.includes("~~~"))) return;
    const [, before = "", mark = "", rest = ""] = /^(.*?)(`{3,20}|~{3,20})([^`~]*)$/.exec(line) ?? [];
    const info = rest.trim();
    const isLanguage = /^[\w+#.-]{1,20}$/.test(info);
    const isAtStart = /^\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?$/.test(before);
    if (open !== undefined && before.trim() === "" && mark.startsWith(open.mark) && !isLanguage) {
      const body = lines.slice(open.at + 1, from);
      fences.set(open.at, { ...open, from: open.at, to: from + 1, after: info, body });
      open = undefined;
    } else if (isAtStart ? mark !== "" : mark[0] === "`" && (isLanguage || info === "")) {
      const kind = isLanguage ? info : "code";
      open = { at: from, mark, kind, before: isAtStart ? "" : before.trimEnd() };
    }
  });
  return fences;
}

/** Tags around pasted text. Other tags may contain the user's own words, in sections. */
const framingTag =
  /^\s{0,40}<(files?|file_?contents?|documents?|document_?contents?|logs?|output|stdout|stderr|code|diff|patch|errors?|stack_?trace|source|paste|pasted|transcript|email)(\s[^<>]{0,300})?>/i;
const nameAttribute = /\b(?:path|name|file|filename|src|uri|url|title)\s?=\s?["']([^"']*)/i;

/** The tagged parts by their first line. The outermost tag counts. */
function tagsIn(lines: readonly string[]): Map<number, Block> {
  const tags = new Map<number, Block>();
  const open = new Map<string, { from: number; name?: string | undefined }>();
  lines.forEach((line, at) => {
    if (!line.includes("<")) return;
    const [, opened, attributes = ""] = framingTag.exec(line.slice(0, 400)) ?? [];
    if (opened !== undefined) open.set(opened, { from: at, name: nameAttribute.exec(attributes)?.[1] });
    for (const [tag, { from, name }] of open) {
      const close = line.lastIndexOf(`</${tag}>`);
      if (close < 0) continue;
      open.delete(tag);
      const after = line.slice(close + tag.length + 3).trim();
      if (from < at)
        tags.set(from, { from, to: at + 1, kind: tag, name, body: lines.slice(from + 1, at), after });
    }
  });
  return tags;
}

const diffHead =
  /^(?:diff |index [\da-f]+\.\.|--- |\+\+\+ |(?:new|deleted|old) (?:file )?mode|similarity index|rename |copy |Binary files |Index: |={20})/;
const hunkHead = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

const MAX_HEAD_LINES = 20;

/** Uses the line counts in a hunk's head to find its end, so that a list after it does not count as removed lines. */
function diffAt(lines: readonly string[], from: number): Block | undefined {
  let [to, hunks] = [from, 0];
  for (; to < lines.length && (hunks > 0 || to - from < MAX_HEAD_LINES); to++) {
    const hunk = hunkHead.exec(lines[to]!);
    if (hunk === null && !diffHead.test(lines[to]!)) break;
    if (hunk === null) continue;
    to = endOfHunk(lines, to + 1, Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)) - 1;
    hunks += 1;
  }
  return hunks === 0 ? undefined : { from, to, kind: "diff", body: lines.slice(from, to) };
}

function endOfHunk(lines: readonly string[], from: number, removed: number, added: number): number {
  let [at, removedLeft, addedLeft] = [from, removed, added];
  for (; at < lines.length && (removedLeft > 0 || addedLeft > 0); at++) {
    const line = lines[at]!;
    if (!/^[-+ \t\\]/.test(line) && (line !== "" || !/^[ +\t-]/.test(lines[at + 1] ?? ""))) break;
    if (!/^[+\\]/.test(line)) removedLeft -= 1;
    if (!/^[-\\]/.test(line)) addedLeft -= 1;
  }
  return lines[at]?.startsWith("\\ ") ? at + 1 : at;
}

function quoteAt(lines: readonly string[], from: number): Block | undefined {
  let to = from;
  while (to < lines.length && /^>(?:\s|>|$)/.test(lines[to]!)) to += 1;
  return to === from ? undefined : { from, to, kind: "quote", body: lines.slice(from, to) };
}
