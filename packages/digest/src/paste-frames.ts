import { isSentence, measure } from "./line-measure.ts";
import { isBlockLine } from "./paste-lines.ts";

/** A stretch of lines with a frame of its own: a fence, a tag, the hunks of a diff. */
export interface Frame {
  from: number;
  /** Behind its last line. */
  to: number;
  kind: string;
  /** What its mark calls it. */
  name?: string | undefined;
  /** The user's words in front of the mark that opens it, in the same line. */
  before: string;
  /** And behind the one that closes it. */
  after: string;
  /** What stands inside the marks. */
  body: readonly string[];
}

/** The framed blocks of a text, in order, short ones too. */
export function framesIn(lines: readonly string[]): Frame[] {
  const frames: Frame[] = [];
  const ends = tagEnds(lines);
  for (let at = 0; at < lines.length; ) {
    const frame = frameAt(lines, at, ends);
    if (frame !== undefined) frames.push(frame);
    at = frame?.to ?? at + 1;
  }
  return frames;
}

const shortestMarkChars = 3;

function frameAt(lines: readonly string[], at: number, ends: ReadonlyMap<number, number>): Frame | undefined {
  const line = lines[at]!;
  if (line.length < shortestMarkChars || isBlockLine(line)) return undefined;
  return fenceAt(lines, at) ?? tagAt(lines, at, ends) ?? diffAt(lines, at);
}

const mostKeptLines = 3;
const mostKeptChars = 200;

/** A command, or a text that is asked for exactly, is information: a short frame stays. */
export function isShort({ body }: Frame): boolean {
  return body.length <= mostKeptLines && body.join("\n").length <= mostKeptChars;
}

const mostMarkChars = 100;

interface Fence {
  mark: string;
  info: string;
  before: string;
}

function fenceAt(lines: readonly string[], at: number): Frame | undefined {
  const fence = opening(lines[at]!);
  if (fence === undefined) return undefined;
  const kind = /^\w[\w+#-]{0,15}$/.test(fence.info) ? fence.info : "code";
  for (let end = at + 1; end < lines.length; end++) {
    const closed = closing(lines[end]!, fence.mark);
    if (closed === undefined) continue;
    const body = [...lines.slice(at + 1, end), ...(closed.body === "" ? [] : [closed.body])];
    return { from: at, to: end + 1, kind, before: fence.before, after: closed.after, body };
  }
  const to = endOfUnclosed(lines, at + 1);
  return { from: at, to, kind, before: fence.before, after: "", body: lines.slice(at + 1, to) };
}

function opening(line: string): Fence | undefined {
  const atStart =
    /^(?:\s{0,20}(?:[-*+•]\s+|\d{1,3}[.)]\s+)?(?=`)|\s{0,3}(?=~))(`{3,20}|~{3,20})([^`~]{0,60})$/.exec(
      line.slice(0, mostMarkChars + 41).trimEnd(),
    );
  if (atStart !== null && line.trimEnd().length <= mostMarkChars) {
    return { mark: atStart[1]!, info: atStart[2]!.trim(), before: "" };
  }
  const inside = /[^`](`{3,20})([\w+#.-]{0,20})\s{0,9}$/.exec(line.slice(-mostMarkChars));
  if (inside === null || line.split("```").length % 2 === 1) return undefined;
  const { length } = `${inside[0]}`;
  return { mark: inside[1]!, info: inside[2]!, before: line.slice(0, line.length - length + 1).trimEnd() };
}

/** Words may stand behind the closing mark, code in front of it. A mark with a language behind it opens another fence. */
function closing(line: string, mark: string): { body: string; after: string } | undefined {
  const head = line.slice(0, 200).trimStart();
  if (head.startsWith(mark)) {
    const after = line.trimStart().slice(mark.length).trim();
    return /^[\w+#.-]+$/.test(after) ? undefined : { body: "", after: after.replace(/^[`~]{1,20}/, "") };
  }
  const whole = line.trimEnd();
  if (!whole.endsWith(mark) || line.length > 10_000 || whole.split(mark).length % 2 === 1) return undefined;
  return { body: whole.slice(0, -mark.length), after: "" };
}

/** Nobody closed it: the sentences in the last paragraphs are still the user's. */
function endOfUnclosed(lines: readonly string[], from: number): number {
  let end = lines.length;
  for (let at = lines.length - 1; at > from; at--) {
    const line = lines[at]!;
    if (line.trim() === "") end = at;
    else if (/^\s/.test(line) || !isSentence(measure(line))) break;
  }
  return end;
}

/** What programs and people frame by a tag; other tags may hold the user's own words, in sections. */
const framingTag =
  /^(?:files?|file_?contents?|documents?|document_?contents?|logs?|output|stdout|stderr|code|diff|patch|errors?|stack_?trace|source|paste|pasted|transcript|email)$/i;
const namingAttribute =
  /\b(?:path|name|file|filename|src|uri|url|source|title)\s?=\s?(?:"([^"]*)"|'([^']*)')/i;
const tagMark = /^\s{0,40}<([A-Za-z][\w:.-]{0,40})(\s[^<>]{0,300})?>/;

/** The line that closes the tag which each line opens. */
function tagEnds(lines: readonly string[]): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const open = new Map<string, number[]>();
  lines.forEach((line, at) => {
    if (!line.includes("<")) return;
    const opened = tagMark.exec(line.slice(0, 400))?.[1];
    if (opened !== undefined) {
      const starts = open.get(opened);
      if (starts === undefined) open.set(opened, [at]);
      else starts.push(at);
    }
    for (const [, closed] of line.matchAll(/<\/([A-Za-z][\w:.-]{0,40})>/g)) {
      const start = open.get(closed!)?.pop();
      if (start !== undefined) ends.set(start, at);
    }
  });
  return ends;
}

function tagAt(lines: readonly string[], at: number, ends: ReadonlyMap<number, number>): Frame | undefined {
  const end = ends.get(at);
  const mark = tagMark.exec(lines[at]!.slice(0, 400));
  if (end === undefined || end === at || mark === null) return undefined;
  const [whole, tag = "", attributes = ""] = mark;
  const naming = namingAttribute.exec(attributes);
  if (naming === null && !framingTag.test(tag)) return undefined;
  const last = lines[end]!;
  const close = last.lastIndexOf(`</${tag}>`);
  const inside = [lines[at]!.slice(whole.length), ...lines.slice(at + 1, end), last.slice(0, close)];
  const name = naming?.[1] ?? naming?.[2];
  return {
    from: at,
    to: end + 1,
    kind: /^(?:file|document)/i.test(tag) && name !== undefined ? "file" : tag,
    name,
    before: "",
    after: last.slice(close + tag.length + 3).trim(),
    body: inside.filter((line, index) => (index > 0 && index < inside.length - 1) || line.trim() !== ""),
  };
}

const diffHead =
  /^(?:diff |index [\da-f]+\.\.|--- |\+\+\+ |new file mode|deleted file mode|old mode|new mode|similarity index|rename |copy |Binary files |GIT binary|Index: |={20})/;
const hunkHead = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** The numbers in a hunk's head say where it ends, so that a list behind it is not taken for lines that go. */
function diffAt(lines: readonly string[], at: number): Frame | undefined {
  const starts =
    /^diff --(?:git|cc|combined) |^Index: \S+$/.test(lines[at]!) ||
    hunkHead.test(lines[at]!) ||
    (lines[at]!.startsWith("--- ") && lines[at + 1]?.startsWith("+++ "));
  if (!starts) return undefined;
  let to = at;
  while (to < lines.length) {
    const head = hunkHead.exec(lines[to]!);
    if (head !== null) to = endOfHunk(lines, to + 1, Number(head[1] ?? 1), Number(head[2] ?? 1));
    else if (diffHead.test(lines[to]!)) to += 1;
    else break;
  }
  return { from: at, to, kind: "diff", before: "", after: "", body: lines.slice(at, to) };
}

function endOfHunk(lines: readonly string[], from: number, removed: number, added: number): number {
  let [at, gone, come] = [from, removed, added];
  for (; at < lines.length && (gone > 0 || come > 0); at++) {
    const line = lines[at]!;
    if (line.startsWith("+")) come -= 1;
    else if (line.startsWith("-")) gone -= 1;
    else if (/^[ \t]/.test(line) || (line === "" && /^[ +\t-]/.test(lines[at + 1] ?? ""))) {
      gone -= 1;
      come -= 1;
    } else if (!line.startsWith("\\")) break;
  }
  return lines[at]?.startsWith("\\ No newline") ? at + 1 : at;
}
