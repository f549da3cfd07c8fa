/** A stretch of lines with a frame of its own: a fence, a tag, the hunks of a diff, a quote. */
export interface Frame {
  from: number;
  /** Behind its last line. */
  to: number;
  kind: string;
  /** What its mark calls it. */
  name?: string | undefined;
  /** The user's words in the line of the mark that opens it, and of the one that closes it. */
  before?: string;
  after?: string;
  /** What stands inside the marks. */
  body: readonly string[];
}

/** The framed blocks of a text, in order, short ones too. */
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

/** By their first lines. A fence that nobody closed is none; a language behind a mark opens anew. */
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

/** What programs and people frame by a tag; other tags may hold the user's own words, in sections. */
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

const mostHeadLines = 20;

/** The numbers in a hunk's head say where it ends, so that a list behind it is not taken for lines that go. */
function diffAt(lines: readonly string[], from: number): Frame | undefined {
  let [to, hunks] = [from, 0];
  for (; to < lines.length && (hunks > 0 || to - from < mostHeadLines); to++) {
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
