import { shortened, textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import { counted } from "@bonsai-agent/messages/numbers";
import { type Frame, framesIn, type LineShape, lineKinds, measure, pasteScores } from "./paste-shapes.ts";

/**
 * Replaces each pasted block of a person's text (a fence, a stack trace, a log, JSON, a listing, a quoted file, a diff, a
 * table) by one line with its kind and size. Finds blocks by their shape, in any language. Keeps short blocks. Keeps only
 * head and tail of a text that is too long to be typed.
 */
export function withoutPastes(text: string): string {
  const lines = text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").split("\n");
  const own: string[] = [];
  let from = 0;
  for (const frame of framesIn(lines)) {
    addUnframed(own, lines.slice(from, frame.from));
    addFrame(own, lines, frame);
    from = frame.to;
  }
  addUnframed(own, lines.slice(from));
  return withoutMiddle(own).join("\n");
}

/** Keeps a short frame: it may be a command, or an exact text that the user asks for. */
function addFrame(own: string[], lines: readonly string[], frame: Frame): void {
  const { from, to, kind, name, before = "", after = "", body } = frame;
  const isShort = body.length <= 3 && body.join("\n").length <= 200;
  const named = () => [before, blockLine(kind, body, name), after].filter((line) => line !== "");
  for (const line of isShort ? lines.slice(from, to) : named()) own.push(line);
}

/** A block line ends the stretch before it, so that a second pass finds the same stretches as the first. */
function addUnframed(own: string[], lines: readonly string[]): void {
  for (const stretch of betweenBlocks(lines)) {
    let from = 0;
    for (const run of [...runsIn(stretch), { from: stretch.length, to: stretch.length }]) {
      for (let at = from; at < run.from; at++) own.push(withoutMass(stretch[at]!));
      const body = stretch.slice(run.from, run.to);
      if (body.length > 0) own.push(blockLine(kindOf(body), body));
      from = run.to;
    }
  }
}

/** Splits the lines into stretches. Each block line is a stretch of its own. */
function betweenBlocks(lines: readonly string[]): readonly (readonly string[])[] {
  if (!lines.some(isBlockLine)) return [lines];
  const stretches: string[][] = [[]];
  for (const line of lines) {
    if (isBlockLine(line)) stretches.push([line], []);
    else stretches.at(-1)!.push(line);
  }
  return stretches;
}

/** Consecutive lines that look pasted, with undecided lines between them. */
type Run = Pick<Frame, "from" | "to">;

/** Finds the pasted blocks in lines without a frame. Skips blocks that are too short to replace. */
function runsIn(lines: readonly string[]): Run[] {
  const shapes = lineKinds(lines);
  const runs: Run[] = [];
  let isOpen = false;
  shapes.forEach((shape, at) => {
    if (shape === "own") isOpen = false;
    if (pasteScores[shape] === 0) return;
    const run = runs.at(-1);
    if (isOpen && run !== undefined && isJoined(shapes, run, at)) run.to = at + 1;
    else runs.push({ from: at, to: at + 1 });
    isOpen = true;
  });
  return runs.map((run) => withoutAsides(run, shapes)).filter((run) => isPaste(run, shapes, lines));
}

/** A paste may contain blank lines. The user typed a command, path or short list in a paragraph between two pastes. */
function isJoined(shapes: readonly LineShape[], { to }: Run, at: number): boolean {
  if (at - to > 5) return false;
  const gap = shapes.slice(to, at);
  if (!gap.includes("blank")) return true;
  const isSure = [shapes[to - 1]!, shapes[at]!].every((shape) => pasteScores[shape] >= pasteScores.key);
  return isSure && gap.length <= 2 && gap.every((shape) => shape === "blank");
}

/** The user typed a path or command right above or below the output of a program. */
function withoutAsides({ from, to }: Run, shapes: readonly LineShape[]): Run {
  const isAside = (at: number, beside: number) =>
    to - from > 2 && shapes[at] === "unsure" && shapes[beside] !== "unsure";
  return { from: from + Number(isAside(from, from + 1)), to: to - Number(isAside(to - 1, to - 2)) };
}

/** Fewer than four sure or thirteen unsure lines stay: they may be a request, an example or a list. */
function isPaste({ from, to }: Run, shapes: readonly LineShape[], lines: readonly string[]): boolean {
  const weight = shapes.slice(from, to).reduce((sum, shape) => sum + pasteScores[shape], 0);
  const chars = lines.slice(from, to).reduce((sum, line) => sum + line.length, 0);
  return to - from > 1 && (weight >= 3.89 || chars > 1_000);
}

/** Keeps head and tail of each stretch between block lines, and of the whole text, if it is too long to be typed. */
function withoutMiddle(lines: readonly string[]): readonly string[] {
  const stretches = betweenBlocks(lines).flatMap((stretch) => shortenedLines(stretch, 6_000, 2_000));
  return shortenedLines(stretches, 16_000, 6_000);
}

function shortenedLines(lines: readonly string[], maxChars: number, edgeChars: number): readonly string[] {
  const text = lines.join("\n");
  if (text.length <= maxChars) return lines;
  const head = sentenceEnd(text, edgeChars - 300);
  const tail = sentenceEnd(text, text.length - edgeChars);
  const middle = blockLine("text", text.slice(head, tail).trim().split("\n"));
  return [text.slice(0, head).trimEnd(), middle, text.slice(tail).trimStart()].join("\n").split("\n");
}

/** The end of the first sentence or line within 300 characters after `from`, in any script; else `from`. */
function sentenceEnd(text: string, from: number): number {
  const end = text.slice(from, from + 300).search(/[.!?…](?=\s)|[。！？।؟۔]|\n/);
  if (end >= 0) return from + end + 1;
  return /[\udc00-\udfff]/.test(text[from] ?? "") ? from - 1 : from;
}

/** The start of a block line. */
export const PASTED = "[pasted: ";

/** The line that replaces a pasted block: its kind, its size, and its name or most telling line. */
export function blockLine(kind: string, body: readonly string[], name?: string): string {
  const chars = body.reduce((sum, line) => sum + line.length + 1, 0);
  const size = `${counted(body.length, "line")}, ${counted(Math.max(0, chars - 1), "character")}`;
  if (kind === "file" && name !== undefined) return `[file ${hintOf(name)}, ${size}]`;
  const hint = hintOf(name ?? tellingLine(body));
  return `${PASTED}${kind}, ${size}${hint === "" ? "" : `: ${hint}`}]`;
}

/** True if the line already replaces a block. */
export function isBlockLine(line: string): boolean {
  const isLikely = line.startsWith("[") && line.length <= 200;
  return isLikely && /^\[(?:pasted: |file )[^\n]*, [\d,]+ characters?\b.*\]$/.test(line);
}

/** Joins the text into one line with single spaces. */
function hintOf(text: string): string {
  return shortened(textHead(text, 400).replace(/\s+/g, " ").trim(), 80);
}

const errorLine =
  /^(?:[\w.$:]*(?:Error|Exception|Panic|Fault)\b|error(?:\[\w+\])?:|fatal:|panic:|thread '|npm (?:ERR!|error) (?!code|A complete)|E {3}\S|.{0,30}\b(?:ERROR|FATAL|CRITICAL)\b)/;

/** The first line that names an error; else the first with a letter or digit. */
function tellingLine(body: readonly string[]): string {
  const heads = body.slice(0, 2_000).map((line) => line.slice(0, 200).trim());
  return heads.find((head) => errorLine.test(head)) ?? heads.find((head) => /[\p{L}\p{N}]/u.test(head)) ?? "";
}

/** The kinds of blocks, by the shape of their lines. Only used to name a block. */
const kinds: readonly (readonly [kind: string, mark: RegExp])[] = [
  ["stack trace", /^\s*(?:at .*[(:]|File ".+", line|from \S+:\d+|#?\d+:? +\S*::)|^\S*@\S+:\d+:\d+$/],
  ["JSON", /^\s*\{?\s*"[^"]+"\s*:|^\s*[[{\]}],?$/],
  ["markup", /^\s*<[A-Za-z!?/]/],
  [
    "table",
    /^\s*\|.*\|\s*$|^[^|]+ \| [^|]+ \| |^[-+|=\s]{5,}$|\S(?: {2,}|\t+)\S.*\S(?: {2,}|\t+)\S|^\S+,\S+,/,
  ],
  ["listing", /[├└│]|^[dlbc-][rwxsStT-]{9}|^commit [\da-f]{7,}|^[\da-f]{7,12} \S|^\s*\S+\/\S+$/],
  ["log", /\d\d:\d\d|\b(?:DEBUG|INFO|WARN|ERROR|FATAL)\b|^npm |:\d+:\d+|\(\d+,\d+\)|^[\w.-]+ +\| /],
  ["terminal session", /^\S*[$❯➜»%] \S|^>>> |^\S+@\S+[:~]/],
  ["code", /[{;(]\s*$|^\s*[})\]]|=>|^\s*(?:\/\/|\/\*|\*|@\w)|^\s*[\w.]+\(.*\)/],
  ["configuration", /^\s*[\w.$-]+(?::(?:\s|$)| ?=)|^\[[\w.-]+\]$|^\s*- /],
];

/** The most frequent kind of the first 50 lines; `text` below a third. Two stack frames are enough for a stack trace. */
export function kindOf(body: readonly string[]): string {
  const heads = body.slice(0, 50).map((line) => line.slice(0, 200));
  const lines = kinds.map(([, mark]) => heads.filter((head) => mark.test(head)).length);
  if (lines[0]! >= 2) return kinds[0]![0];
  const most = Math.max(...lines);
  return most * 3 >= heads.length ? kinds[lines.indexOf(most)]![0] : "text";
}

/** Cuts a long line of data (minified, base64) to the words at its ends. In other lines, replaces only giant tokens. */
export function withoutMass(line: string): string {
  if (line.length <= 400) return line;
  if (line.length <= 800 || isWords(line)) {
    return line.replace(/\S{400,}/g, (token) => (isWords(token) ? token : mark(token)));
  }
  const head = typedChars(textHead(line, 300).match(/\S+\s*|\s+/g) ?? []);
  const tail = typedChars((textTail(line, 300).match(/\s*\S+|\s+$/g) ?? []).reverse());
  return line.slice(0, head) + mark(line.slice(head, line.length - tail)) + line.slice(line.length - tail);
}

/** Judges a line by its beginning. */
function isWords(text: string): boolean {
  const { chars, wordChars } = measure(text.slice(0, 2_000));
  return wordChars >= 0.5 * chars;
}

/** The length of the tokens before the first one that a person hardly types, in characters. */
function typedChars(tokens: readonly string[]): number {
  const end = tokens.findIndex((token) => token.length > 60 || /[[\]{}<>=;|]|\d{6}|",/.test(token));
  return tokens.slice(0, end < 0 ? undefined : end).join("").length;
}

function mark(text: string): string {
  const kind = /^\s*[[{]["\d{[]/.test(text)
    ? "JSON"
    : /^[\w+/-]{60,}={0,2}\s*$/.test(text)
      ? "base64"
      : "data";
  return `${PASTED}${kind}, ${counted(text.length, "character")}]`;
}
