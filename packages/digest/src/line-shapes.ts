import { isSentence, isWordless, type Measure, measure } from "./line-measure.ts";
import { beginsAsStatement, type Kind, looksLikeCode, markOf } from "./paste-marks.ts";

/**
 * What a line looks like. `own` is a sentence or a list item, `made` is not words or has the mark of a kind of paste,
 * `either` goes with what stands around it.
 */
export interface LineShape {
  verdict: "blank" | "own" | "either" | "made";
  /** The mark that it bears, where it bears one. */
  kind?: Kind | undefined;
  isIndented: boolean;
  isItem?: boolean;
  /** How many gaps set its columns apart. */
  columns?: number;
  chars: number;
}

const mostReadChars = 400;

export function lineShapes(lines: readonly string[]): LineShape[] {
  const shapes: LineShape[] = [];
  const known = new Map<string, LineShape>();
  const shapeOnce = (line: string) => {
    const shape = known.get(line) ?? shapeOf(line);
    known.set(line, shape);
    return shape;
  };
  let above: LineShape | undefined;
  lines.forEach((line, at) => {
    const alone = among(shapeOnce(line), line, lines[at - 1] ?? "", lines[at + 1] ?? "");
    const isApart = shapes.at(-1)?.verdict === "blank";
    const shape = above?.verdict === "made" ? underMade(alone, line, above.kind, isApart) : alone;
    shapes.push(shape);
    if (shape.verdict !== "blank") above = shape;
  });
  return shapes;
}

/** What is indented under a made line, without being a list, is part of it: a message, a docstring, a comment. */
function underMade(shape: LineShape, line: string, kind: Kind | undefined, isApart: boolean): LineShape {
  if (shape.verdict === "blank" || shape.verdict === "made") return shape;
  if (kind === "code" && !isApart && /^\s+\*/.test(line)) return { ...shape, verdict: "made", kind };
  if (!(isApart ? /^(?: {4}|\t)/.test(line) : shape.isIndented)) return shape;
  if (kind === "configuration" && shape.verdict === "either") return { ...shape, verdict: "made", kind };
  return shape.isItem ? shape : { ...shape, verdict: "made" };
}

function shapeOf(line: string): LineShape {
  const head = line.slice(0, mostReadChars);
  const size = measure(head);
  const base = { chars: line.trim().length, isIndented: /^(?: {2}|\t)/.test(line) };
  if (base.chars === 0) return { ...base, verdict: "blank" };
  const mark = markOf(head);
  if (mark !== undefined) return { ...base, verdict: "made", kind: mark };
  if (isSentence(size) && beginsAsStatement(head)) return { ...base, verdict: "either", kind: "code" };
  const item = listItem.exec(head)?.[0];
  if (item !== undefined) return { ...base, isItem: true, verdict: verdictOfItem(head.slice(item.length)) };
  const kind = kindOf(head, size);
  if (kind !== undefined) return { ...base, verdict: "made", kind };
  return { ...base, columns: columns(head), verdict: verdictOf(head.trim(), size, base.isIndented) };
}

/** Lines of one width, with the same gaps, or the very same, are of a program. */
function among(shape: LineShape, line: string, before: string, after: string): LineShape {
  if (shape.verdict === "blank" || shape.kind !== undefined) return shape;
  if (isOfScreen(line, before, after)) return { ...shape, verdict: "made", kind: "screen" };
  if (shape.isItem) return shape;
  if (line === before || line === after) return { ...shape, verdict: "made", kind: "log" };
  const width = shape.columns ?? 0;
  const isTable = width > 0 && [before, after].some((other) => columns(other) === width);
  return isTable ? { ...shape, verdict: "made", kind: "table" } : shape;
}

const listItem =
  /^\s{0,20}(?:[-*+•·–—▪◦‣]|\(?\d{1,3}[.)](?!\d)|\(?\p{L}{1,3}[.)](?=\s)|[\p{L}\p{N}]{1,3}[、）]|[(（][\p{L}\p{N}]{1,3}[)）])\s{0,4}(?:\[[ xX]\]\s)?(?=\S)/u;

function verdictOf(line: string, size: Measure, isIndented: boolean): LineShape["verdict"] {
  if (isSentence(size)) return "own";
  if (/^\w+:\/\/\S+$/.test(line)) return "either";
  if (isWordless(size)) return "made";
  const isSaid =
    /[!?！？。؟।…]$/.test(line) ||
    (size.plain >= 2 && size.plain === size.tokens && !/^[\w.-]+: |;$/.test(line));
  return isSaid && !isIndented ? "own" : "either";
}

/** An item that begins with a key may be of a person's list or of YAML. */
function verdictOfItem(text: string): LineShape["verdict"] {
  if (/^[\w./-]+:(?:\s|$)/.test(text)) return "either";
  return measure(text).plain >= 1 ? "own" : "either";
}

function kindOf(line: string, size: Measure): Kind | undefined {
  if (!isSentence(size)) return looksLikeCode(line) ? "code" : undefined;
  return size.plain < 0.75 * size.tokens && endsAsCode.test(line) ? "code" : undefined;
}

/** What a line with words in it has only in code. */
const endsAsCode = /(?:[{;]|=>)\s*$/;

/** A terminal fills its lines with spaces to one width. */
function isOfScreen(line: string, before: string, after: string): boolean {
  if (!/[ \t]\r?$/.test(line) || line.length < 40) return false;
  return [before, after].some((other) => other.length === line.length) || / {6}\r?$/.test(line);
}

/** Gaps of two spaces or more, tabs, or commas and semicolons without a space: 0 where there are fewer than two. */
function columns(line: string): number {
  const head = line.slice(0, mostReadChars).trim();
  const gaps = head.match(/[^\s.!?:,](?: {2,}|\t+)(?=\S)/g)?.length ?? 0;
  if (gaps >= 2) return 1_000;
  const commas = head.match(/[,;](?=[^\s,;])|[,;]{2}/g)?.length ?? 0;
  return commas >= 2 ? commas : 0;
}
