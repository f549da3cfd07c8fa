import { shortened, textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import { counted } from "@bonsai-agent/messages/numbers";
import { type Frame, framesIn, type LineShape, lineKinds, measure, pasteScores } from "./paste-shapes.ts";

/**
 * What a person wrote, without what was pasted into it: each pasted block (a fence, a stack trace, a log, JSON, a listing, a
 * quoted file, a diff, a table) is one line that says what it was and how long. Found by shape, not by language. What is
 * short stays as it is; of a text too long to be typed, its head and its tail stay.
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

/** A command, or a text that is asked for exactly, is information: a short frame stays. */
function addFrame(own: string[], lines: readonly string[], frame: Frame): void {
  const { from, to, kind, name, before = "", after = "", body } = frame;
  const isShort = body.length <= 3 && body.join("\n").length <= 200;
  const named = () => [before, blockLine(kind, body, name), after].filter((line) => line !== "");
  for (const line of isShort ? lines.slice(from, to) : named()) own.push(line);
}

/** A line of ours ends what stands before it, so that a second reading finds the same stretches as the first. */
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

/** Each line that stands for a block is a stretch alone. */
function betweenBlocks(lines: readonly string[]): readonly (readonly string[])[] {
  if (!lines.some(isBlockLine)) return [lines];
  const stretches: string[][] = [[]];
  for (const line of lines) {
    if (isBlockLine(line)) stretches.push([line], []);
    else stretches.at(-1)!.push(line);
  }
  return stretches;
}

/** Made lines in a row, with what may be either between them. */
type Run = Pick<Frame, "from" | "to">;

/** The pasted blocks in lines without a frame; those too short to be left out are not among them. */
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

/** One paste may have blank lines in it; a command, a path or a short list in a paragraph between pastes is the user's. */
function isJoined(shapes: readonly LineShape[], { to }: Run, at: number): boolean {
  if (at - to > 5) return false;
  const gap = shapes.slice(to, at);
  if (!gap.includes("blank")) return true;
  const isSure = [shapes[to - 1]!, shapes[at]!].every((shape) => pasteScores[shape] >= pasteScores.key);
  return isSure && gap.length <= 2 && gap.every((shape) => shape === "blank");
}

/** A path or a command right above or below what a program wrote is the user's. */
function withoutAsides({ from, to }: Run, shapes: readonly LineShape[]): Run {
  const isAside = (at: number, beside: number) =>
    to - from > 2 && shapes[at] === "unsure" && shapes[beside] !== "unsure";
  return { from: from + Number(isAside(from, from + 1)), to: to - Number(isAside(to - 1, to - 2)) };
}

/** Less than four sure lines, or thirteen unsure ones, stays: it may be a wish, an example, or a list. */
function isPaste({ from, to }: Run, shapes: readonly LineShape[], lines: readonly string[]): boolean {
  const weight = shapes.slice(from, to).reduce((sum, shape) => sum + pasteScores[shape], 0);
  const chars = lines.slice(from, to).reduce((sum, line) => sum + line.length, 0);
  return to - from > 1 && (weight >= 3.89 || chars > 1_000);
}

/** Of more than anybody types without a line of ours between, and in one message at all, head and tail stay. */
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

/** The first end of a sentence or of a line, across scripts. */
function sentenceEnd(text: string, from: number): number {
  const end = text.slice(from, from + 300).search(/[.!?…](?=\s)|[。！？।؟۔]|\n/);
  if (end >= 0) return from + end + 1;
  return /[\udc00-\udfff]/.test(text[from] ?? "") ? from - 1 : from;
}

/** How the line that stands for a pasted block begins. */
export const PASTED = "[pasted: ";

/** The one line that stands for a pasted block: what it was, how long, and its first telling words. */
export function blockLine(kind: string, body: readonly string[], name?: string): string {
  const chars = body.reduce((sum, line) => sum + line.length + 1, 0);
  const size = `${counted(body.length, "line")}, ${counted(Math.max(0, chars - 1), "character")}`;
  if (kind === "file" && name !== undefined) return `[file ${hintOf(name)}, ${size}]`;
  const hint = hintOf(name ?? tellingLine(body));
  return `${PASTED}${kind}, ${size}${hint === "" ? "" : `: ${hint}`}]`;
}

/** Whether a line stands for a block already. */
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

/** The line that names an error; else the first that says anything. */
function tellingLine(body: readonly string[]): string {
  const heads = body.slice(0, 2_000).map((line) => line.slice(0, 200).trim());
  return heads.find((head) => errorLine.test(head)) ?? heads.find((head) => /[\p{L}\p{N}]/u.test(head)) ?? "";
}

/** What a block may be, by what its lines look like; this only names it. */
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

/** The kind that most of the first lines look like: `text` where no kind has a third of them. */
export function kindOf(body: readonly string[]): string {
  const heads = body.slice(0, 50).map((line) => line.slice(0, 200));
  const lines = kinds.map(([, mark]) => heads.filter((head) => mark.test(head)).length);
  if (lines[0]! >= 2) return kinds[0]![0];
  const most = Math.max(...lines);
  return most * 3 >= heads.length ? kinds[lines.indexOf(most)]![0] : "text";
}

/** A line whose mass nobody typed (minified, base64) keeps the words at its ends; of other lines, a giant token goes. */
export function withoutMass(line: string): string {
  if (line.length <= 400) return line;
  if (line.length <= 800 || isWords(line)) {
    return line.replace(/\S{400,}/g, (token) => (isWords(token) ? token : mark(token)));
  }
  const head = typedChars(textHead(line, 300).match(/\S+\s*|\s+/g) ?? []);
  const tail = typedChars((textTail(line, 300).match(/\s*\S+|\s+$/g) ?? []).reverse());
  return line.slice(0, head) + mark(line.slice(head, line.length - tail)) + line.slice(line.length - tail);
}

/** A line's beginning shows what it is. */
function isWords(text: string): boolean {
  const { chars, wordChars } = measure(text.slice(0, 2_000));
  return wordChars >= 0.5 * chars;
}

/** How long the tokens are before the first that a person hardly typed. */
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
