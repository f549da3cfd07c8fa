import { shortened, textHead } from "@bonsai-agent/messages";
import { textTail } from "@bonsai-agent/messages/host";
import { counted } from "@bonsai-agent/messages/numbers";
import { measure } from "./line-shape.ts";

/** How the line that stands for a pasted block begins. */
export const PASTED = "[pasted: ";

/** The one line that stands for a pasted block: what it was, how long, and its first telling words. */
export function blockLine(kind: string, body: readonly string[], name?: string): string {
  const chars = body.reduce((sum, line) => sum + line.length + 1, 0);
  const size = `${counted(body.length, "line")}, ${counted(Math.max(0, chars - 1), "character")}`;
  if (kind === "file" && name !== undefined) return `[file ${clipped(name)}, ${size}]`;
  const hint = clipped(name ?? tellingLine(body));
  return `${PASTED}${kind}, ${size}${hint === "" ? "" : `: ${hint}`}]`;
}

/** Whether a line stands for a block already. */
export function isBlockLine(line: string): boolean {
  const isLikely = line.startsWith("[") && line.length <= 200;
  return isLikely && /^\[(?:pasted: |file )[^\n]*, [\d,]+ characters?\b.*\]$/.test(line);
}

/** Joins the text into one line with single spaces. */
function clipped(text: string): string {
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
