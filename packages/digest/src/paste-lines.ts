import { measure } from "./line-measure.ts";

/** The one line that stands for a pasted block: what it was, how long, and its first telling words. */
export function blockLine(kind: string, body: readonly string[], name?: string): string {
  const chars = body.reduce((sum, line) => sum + line.length + 1, 0);
  const size = `${count(body.length, "line")}, ${count(Math.max(0, chars - 1), "character")}`;
  if (kind === "file" && name !== undefined) return `[file ${clipped(name)}, ${size}]`;
  const hint = clipped(name ?? tellingLine(body));
  return `[pasted: ${kind}, ${size}${hint === "" ? "" : `: ${hint}`}]`;
}

const mostBlockLineChars = 200;

/** Whether a line stands for a block already. */
export function isBlockLine(line: string): boolean {
  return (
    line.startsWith("[") &&
    line.length <= mostBlockLineChars &&
    /^\[(?:pasted: |file )[^\n]*, [\d,]+ characters?\b.*\]$/.test(line)
  );
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

const mostHintChars = 80;

/** White space is one space; an ending that cuts a character in two is left off. */
function clipped(text: string): string {
  const line = text.slice(0, 400).replace(/\s+/g, " ").trim();
  if (line.length <= mostHintChars) return line;
  return `${line.slice(0, mostHintChars - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

const errorLine =
  /^(?:[\w.$:]*(?:Error|Exception|Panic|Fault)\b|error(?:\[\w+\])?:|fatal:|panic:|thread '|npm (?:ERR!|error) (?!code|A complete)|E {3}\S|.{0,30}\b(?:ERROR|FATAL|CRITICAL)\b)/;

/** The line that names an error; else the first that says anything. */
function tellingLine(body: readonly string[]): string {
  const heads = body.map((line) => line.slice(0, 200).trim());
  return heads.find((head) => errorLine.test(head)) ?? heads.find((head) => /[\p{L}\p{N}]/u.test(head)) ?? "";
}

const mostTokenChars = 400;
const mostLineChars = 1_000;
const mostEdgeChars = 300;
/** A line's beginning shows what it is. */
const mostMeasuredChars = 2_000;

/** A line whose mass nobody typed (minified, base64) keeps the words at its ends. */
export function withoutLongTokens(line: string): string {
  if (line.length <= mostTokenChars) return line;
  const shape = measure(line.slice(0, mostMeasuredChars));
  if (line.length > mostLineChars && shape.wordChars < 0.5 * shape.chars) return withWordsAtEnds(line);
  return line.replace(/\S+/g, (token) => {
    if (token.length <= mostTokenChars || isWords(token)) return token;
    return inlineMark(token);
  });
}

function isWords(token: string): boolean {
  const { chars, wordChars } = measure(token.slice(0, mostMeasuredChars));
  return wordChars >= 0.5 * chars;
}

function withWordsAtEnds(line: string): string {
  const head = wordsAtStart(line.slice(0, 2 * mostEdgeChars).match(/\S+\s*|\s+/g) ?? []);
  const rest = line.slice(head.length);
  const tail = wordsAtStart((rest.slice(-2 * mostEdgeChars).match(/\s*\S+|\s+$/g) ?? []).reverse(), true);
  return `${head}${inlineMark(rest.slice(0, rest.length - tail.length))}${tail}`;
}

function wordsAtStart(tokens: readonly string[], isBackward = false): string {
  let words = "";
  for (const token of tokens) {
    if (words.length + token.length > mostEdgeChars || measure(token).plain === 0) break;
    words = isBackward ? token + words : words + token;
  }
  return words;
}

function inlineMark(text: string): string {
  return `[pasted: ${kindOfMass(text)}, ${count(text.length, "character")}]`;
}

/** What one long line without words is. */
export function kindOfMass(text: string): string {
  const head = text.slice(0, 400).trim();
  if (/^(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{60,}={0,2}$/.test(head)) {
    return /^[0-9a-fA-F]+$/.test(head) ? "hex" : "base64";
  }
  if (/^[[{]["\d{[]/.test(head)) return "JSON";
  if (/^<[a-zA-Z!?]/.test(head)) return "markup";
  return /^\w+:\/\//.test(head) ? "address" : "data";
}
