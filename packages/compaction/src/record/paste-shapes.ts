/** The shapes of lines, scored by how likely the line was pasted, 0 to 1. */
export const pasteScores = {
  blank: 0,
  /** A sentence, a list item or an exclamation. */
  own: 0,
  /** Belongs to the lines around it. */
  either: 0,
  /** Hardly any words: a path, a name, a command, a value. */
  unsure: 0.3,
  key: 0.6,
  code: 0.8,
  /** A form that only programs write. */
  program: 1,
} as const;

export type LineShape = keyof typeof pasteScores;

const MAX_READ_CHARS = 200;

/** The shape of each line. Its neighbours can change it. */
export function lineKinds(lines: readonly string[]): LineShape[] {
  const known = new Map<string, LineForm>([["", blank]]);
  const forms = lines.map((line) => {
    const form = known.get(line) ?? formOf(line);
    known.set(line, form);
    return form;
  });
  let above: LineShape = "blank";
  return forms.map((form, at) => {
    if (form === blank) return "blank";
    const [before = blank, after = blank] = [forms[at - 1], forms[at + 1]];
    let shape = form.shape;
    if (form.columns > 0 && (form.columns === before.columns || form.columns === after.columns))
      shape = "program";
    // Words indented under a pasted line are a message, a docstring or a comment. Programs also repeat lines.
    const isUnder = pasteScores[above] >= pasteScores.key && form.indent >= (before === blank ? 4 : 2);
    if ((isUnder || form === before || form === after) && pasteScores[shape] < pasteScores.key) shape = "key";
    above = shape;
    return shape;
  });
}

/** The form of a line, without its neighbours. */
interface LineForm {
  shape: LineShape;
  /** Indentation in spaces; a tab counts as four. List items have 0: the user may have typed them at any depth. */
  indent: number;
  /** Identifies the table layout: by its gaps, its commas, or the width a terminal padded it to. 0: no table. */
  columns: number;
}

const blank: LineForm = { shape: "blank", indent: 0, columns: 0 };

function formOf(line: string): LineForm {
  const head = line.slice(0, MAX_READ_CHARS).trimEnd();
  if (head === "") return blank;
  const isProgram = programLine.test(head);
  const item = isProgram ? null : listItem.exec(head);
  const isFilled = line.length >= 40 && line.endsWith(" ");
  const columns = isFilled ? MAX_READ_CHARS + line.length : item === null ? gaps(head) : 0;
  if (item !== null) return { shape: shapeOfItem(head.slice(item[0].length)), indent: 0, columns };
  const indent = /^[ \t]*/.exec(head)![0].replaceAll("\t", "    ").length;
  return { shape: isProgram ? "program" : shapeOf(head), indent, columns };
}

/** An item that starts with a key may be part of a pasted list of values. */
function shapeOfItem(text: string): LineShape {
  return measure(text).plain >= 1 && !/^[\w./-]+:(?:\s|$)/.test(text) ? "own" : "either";
}

/** MAX_READ_CHARS for two or more gaps (tabs, or two spaces and more); else the commas without a space; 0 below two. */
function gaps(head: string): number {
  const line = head.trimStart();
  if ((line.match(/[^\s.!?:,](?: {2,}|\t+)(?=\S)/g)?.length ?? 0) >= 2) return MAX_READ_CHARS;
  const commas = line.match(/[,;](?=[^\s,;])|[,;]{2}/g)?.length ?? 0;
  return commas >= 2 ? commas : 0;
}

function shapeOf(head: string): LineShape {
  const { chars, wordChars, tokens, plain } = measure(head);
  if (plain >= 3 && (plain >= 0.6 * tokens || wordChars >= 0.6 * chars)) {
    return plain < 0.75 * tokens && /(?:[{;]|=>)$/.test(head) ? "code" : "own";
  }
  if (/^\s*\w+:\/\/\S+$/.test(head)) return "either";
  if (codeLine.test(head)) return "code";
  if (keyLine.test(head)) return "key";
  if (plain < 0.5 * tokens && wordChars < 0.5 * chars) {
    // A person may type paths, names and commands, but hardly many digits and signs.
    const isTyped = tokens === 1 || /^[a-z][\w./-]* .*(?<=\s)--?[a-zA-Z]/.test(head);
    return !isTyped && (head.match(/[^\p{L}\p{M}\s]/gu)?.length ?? 0) >= 12 ? "code" : "unsure";
  }
  const isUserMessage = /[!?！？。؟।…]$/.test(head) || (plain >= 2 && plain === tokens);
  return isUserMessage && !/^\s/.test(head) ? "own" : "either";
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
export function measure(text: string) {
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

/** Lines with a frame: a fence, a tag, the hunks of a diff, a quote. */
export interface Frame {
  from: number;
  /** The index after its last line. */
  to: number;
  kind: string;
  /** The name in the attributes of its opening tag. */
  name?: string | undefined;
  /** The user's words before the opening mark and after the closing mark, in the same lines. */
  before?: string;
  after?: string;
  /** The lines between the marks; all lines of a diff or quote. */
  body: readonly string[];
}

/** The framed blocks of a text, in order, including short ones. */
export function framesIn(lines: readonly string[]): Frame[] {
  const starts = tagsIn(lines);
  addFences(starts, lines);
  const frames: Frame[] = [];
  for (let at = 0; at < lines.length; ) {
    const frame =
      starts.get(at) ?? (/^[-dI@>]/.test(lines[at]!) ? (diffAt(lines, at) ?? quoteAt(lines, at)) : undefined);
    if (frame !== undefined) frames.push(frame);
    at = frame?.to ?? at + 1;
  }
  return frames;
}

/** Adds fences by their first line. Ignores an unclosed fence. A mark with a language always opens a new fence. */
function addFences(fences: Map<number, Frame>, lines: readonly string[]): void {
  let open: { at: number; mark: string; kind: string; before: string } | undefined;
  lines.forEach((line, from) => {
    if (line.length > 400 || !(line.includes("```") || line.includes("~~~"))) return;
    const [, before = "", mark = "", behind = ""] = /^(.*?)(`{3,20}|~{3,20})([^`~]*)$/.exec(line) ?? [];
    const info = behind.trim();
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
}

/** Tags around pasted text. Other tags may contain the user's own words, in sections. */
const framingTag =
  /^\s{0,40}<(files?|file_?contents?|documents?|document_?contents?|logs?|output|stdout|stderr|code|diff|patch|errors?|stack_?trace|source|paste|pasted|transcript|email)(\s[^<>]{0,300})?>/i;

function tagsIn(lines: readonly string[]): Map<number, Frame> {
  const frames = new Map<number, Frame>();
  const open = new Map<string, { from: number; name?: string | undefined }>();
  lines.forEach((line, at) => {
    if (!line.includes("<")) return;
    const [, opened, attributes = ""] = framingTag.exec(line.slice(0, 400)) ?? [];
    const naming = /\b(?:path|name|file|filename|src|uri|url|title)\s?=\s?["']([^"']*)/i.exec(attributes);
    if (opened !== undefined) open.set(opened, { from: at, name: naming?.[1] });
    for (const [tag, { from, name }] of open) {
      const close = line.lastIndexOf(`</${tag}>`);
      if (close < 0) continue;
      open.delete(tag);
      const kind = name !== undefined && /^(?:file|document)/i.test(tag) ? "file" : tag;
      const after = line.slice(close + tag.length + 3).trim();
      if (from < at)
        frames.set(from, { from, to: at + 1, kind, name, after, body: lines.slice(from + 1, at) });
    }
  });
  return frames;
}

const diffHead =
  /^(?:diff |index [\da-f]+\.\.|--- |\+\+\+ |(?:new|deleted|old) (?:file )?mode|similarity index|rename |copy |Binary files |Index: |={20})/;
const hunkHead = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

const MAX_HEAD_LINES = 20;

/** Uses the line counts in a hunk's head to find its end, so that a list after it does not count as removed lines. */
function diffAt(lines: readonly string[], from: number): Frame | undefined {
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
  let [at, gone, come] = [from, removed, added];
  for (; at < lines.length && (gone > 0 || come > 0); at++) {
    const line = lines[at]!;
    if (!/^[-+ \t\\]/.test(line) && (line !== "" || !/^[ +\t-]/.test(lines[at + 1] ?? ""))) break;
    if (!/^[+\\]/.test(line)) gone -= 1;
    if (!/^[-\\]/.test(line)) come -= 1;
  }
  return lines[at]?.startsWith("\\ ") ? at + 1 : at;
}

function quoteAt(lines: readonly string[], from: number): Frame | undefined {
  let to = from;
  while (to < lines.length && /^>(?:\s|>|$)/.test(lines[to]!)) to += 1;
  return to === from ? undefined : { from, to, kind: "quote", body: lines.slice(from, to) };
}
