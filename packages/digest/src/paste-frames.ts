/** A stretch of lines with a frame of its own: a fence, a tag, the hunks of a diff, a quote. */
export interface Frame {
  from: number;
  /** Behind its last line. */
  to: number;
  kind: string;
  /** What its mark calls it. */
  name?: string | undefined;
  /** The user's words in front of the mark that opens it, in the same line. */
  before?: string;
  /** And behind the one that closes it. */
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
const name = /\b(?:path|name|file|filename|src|uri|url|source|title)\s?=\s?(?:"([^"]*)"|'([^']*)')/i;

function tagsIn(lines: readonly string[]): Map<number, Frame> {
  const frames = new Map<number, Frame>();
  const open = new Map<string, number>();
  lines.forEach((line, at) => {
    if (!line.includes("<")) return;
    const tag = framingTag.exec(line.slice(0, 400))?.[1];
    if (tag !== undefined) open.set(tag, at);
    for (const [mark, from] of open) {
      const close = line.lastIndexOf(`</${mark}>`);
      if (close < 0) continue;
      open.delete(mark);
      if (from < at) frames.set(from, tagFrame(lines, from, at, close));
    }
  });
  return frames;
}

function tagFrame(lines: readonly string[], from: number, end: number, close: number): Frame {
  const [whole, tag = "", attributes = ""] = framingTag.exec(lines[from]!.slice(0, 400)) ?? [""];
  const naming = name.exec(attributes);
  const first = lines[from]!.slice(whole.length).trim();
  const last = lines[end]!.slice(0, close).trim();
  return {
    from,
    to: end + 1,
    kind: /^(?:file|document)/i.test(tag) && naming !== null ? "file" : tag,
    name: naming?.[1] ?? naming?.[2],
    after: lines[end]!.slice(close + tag.length + 3).trim(),
    body: [...(first ? [first] : []), ...lines.slice(from + 1, end), ...(last ? [last] : [])],
  };
}

const diffHead =
  /^(?:diff |index [\da-f]+\.\.|--- |\+\+\+ |(?:new|deleted|old) (?:file )?mode|similarity index|rename |copy |Binary files |Index: |={20})/;
const hunkHead = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** The numbers in a hunk's head say where it ends, so that a list behind it is not taken for lines that go. */
function diffAt(lines: readonly string[], from: number): Frame | undefined {
  const isHead = lines[from]!.startsWith("--- ") && lines[from + 1]?.startsWith("+++ ");
  if (!isHead && !/^(?:diff --|Index: \S+$|@@ -)/.test(lines[from]!)) return undefined;
  let to = from;
  for (; to < lines.length; to++) {
    const hunk = hunkHead.exec(lines[to]!);
    if (hunk !== null) to = endOfHunk(lines, to + 1, Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)) - 1;
    else if (!diffHead.test(lines[to]!)) break;
  }
  return to === from ? undefined : { from, to, kind: "diff", body: lines.slice(from, to) };
}

function endOfHunk(lines: readonly string[], from: number, removed: number, added: number): number {
  let [at, gone, come] = [from, removed, added];
  for (; at < lines.length && (gone > 0 || come > 0); at++) {
    const line = lines[at]!;
    if (!/^[-+ \t\\]/.test(line) && (line !== "" || !/^[ +\t-]/.test(lines[at + 1] ?? ""))) break;
    if (!/^[+\\]/.test(line)) gone -= 1;
    if (!/^[-\\]/.test(line)) come -= 1;
  }
  return lines[at]?.startsWith("\\ No newline") ? at + 1 : at;
}

function quoteAt(lines: readonly string[], from: number): Frame | undefined {
  let to = from;
  while (to < lines.length && /^>(?:\s|>|$)/.test(lines[to]!)) to += 1;
  return to === from ? undefined : { from, to, kind: "quote", body: lines.slice(from, to) };
}
