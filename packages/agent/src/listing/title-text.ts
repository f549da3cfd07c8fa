import { redactSecrets, textHead, typedText, type UserMessage } from "@bonsai-agent/messages";
import { askedText, typedCommand, withoutTerminalControls } from "@bonsai-agent/messages/host";
import { lineText } from "@bonsai-agent/messages/numbers";

/** Fits one line of a list. */
const TITLE_CHARS = 80;
/** A pasted log can be large. */
const READ_CHARS = 10_000;
const MIN_LETTERS = 3;

/** Makes a title from the first sentence of a request. Returns undefined for a request without a line of words. */
export function titleOf(request: string): string | undefined {
  const line = linesOf(request).find((each) => letters(each) >= MIN_LETTERS && !NAMES_NOTHING.test(each));
  return line === undefined ? undefined : title(firstSentence(line));
}

/** A single short word, such as a greeting, or a command of the interface. */
const NAMES_NOTHING = /^(?:[\p{Lu}\p{Ll}]{1,12}[.!?]*|\/[\w-]+)$/u;

/** The user's request as typed, followed by the text of its template. */
export function requestText(message: UserMessage): string {
  return typedCommand(message) === undefined ? typedText(message) : askedText(message);
}

/** Returns a model's title on one line, without labels and quotes; undefined if nothing is left. */
export function cleanTitle(answer: string): string | undefined {
  const line = linesOf(answer).find((each) => letters(each) >= MIN_LETTERS);
  const bare = line
    ?.replace(/^(?:title|titel|titre|título|标题|タイトル)\s*[:：]\s*/i, "")
    .replace(/^["“„«'`]([^"“”„«»'`]*)["”“»'`][.。]?$/u, "$1");
  return bare === undefined ? undefined : title(bare);
}

/** The prose of a text on one line, without code, Markdown and secrets, cut at a word's end. */
export function proseOf(text: string, maxChars: number): string {
  return cut(linesOf(text).join(" "), maxChars);
}

/** The text on one line, cut at a word's end. */
export function cut(text: string, maxChars: number): string {
  return lineText([{ text: text.replaceAll(/\s+/g, " ").trim() }], maxChars);
}

function title(text: string): string | undefined {
  const bare = text.replace(/[\s,;:.…·、。，；：]+$/u, "");
  return letters(bare) < MIN_LETTERS ? undefined : cut(bare, TITLE_CHARS);
}

/** The lines of a text, without blocks, secrets and Markdown's frames. */
function linesOf(text: string): string[] {
  const lines = withoutSecrets(withoutBlocks(plain(textHead(text, READ_CHARS)))).split("\n");
  return withoutListMarks(lines).map((line) => withoutFrames(line).replaceAll(/\s+/g, " ").trim());
}

/** Removes control characters of terminals and of the text direction. */
function plain(text: string): string {
  return withoutTerminalControls(text.toWellFormed())
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffd]/g, "")
    .replaceAll(/\p{Cc}/gu, (each) => (each === "\n" ? each : " "));
}

/** Removes code blocks, files and reminders, which take whole lines. */
function withoutBlocks(text: string): string {
  return text
    .replaceAll(/^[ \t]*(`{3,}|~{3,})[\s\S]*?(?:^[ \t]*\1[^\n]*$|$(?![\s\S]))/gm, "")
    .replaceAll(/^<([a-z][\w-]{0,40})\b[^>\n]{0,400}>\n[\s\S]*?<\/\1>[ \t]*$/gim, "");
}

/** A list has more than one item: a single `* ` or `> ` can be text. */
function withoutListMarks(lines: readonly string[]): string[] {
  const markOf = (line: string) => /^\s*([-*+>•])\s/.exec(line)?.[1] ?? "";
  const marks = Map.groupBy(lines, markOf);
  return lines.map((line) => {
    const mark = markOf(line);
    return mark !== "" && marks.get(mark)!.length > 1 ? line.trimStart().slice(1) : line;
  });
}

/** Markdown's headings, links, and emphasis around words. Paths, globs and names in code look like emphasis, but inside words. */
function withoutFrames(line: string): string {
  return line
    .replace(/^\s*#{1,6}\s+(.*?)(?:\s+#+)?\s*$/, "$1")
    .replaceAll(/!?\[([^[\]]+)\]\(https?:[^()\s]*\)/g, "$1")
    .replaceAll(EMPHASIS, "$2");
}

const EMPHASIS =
  /(?<=^|[\s([{"'“‘])(\*{1,3})(?=[\p{L}\p{N}"'`])([^*]*[\p{L}\p{N}.!?:;,"'`)])\1(?=$|[\s)\]}"'”’.,;:!?])/gu;

const MIN_SENTENCE_LETTERS = 12;

function firstSentence(line: string): string {
  for (const end of line.matchAll(/(?<![.!?…])[.!?…]+(?=\s)|[。！？]+/g)) {
    const until = end.index + end[0].length;
    if (letters(line.slice(0, until)) >= (/[。！？]/.test(end[0]) ? MIN_LETTERS : MIN_SENTENCE_LETTERS))
      return line.slice(0, until);
  }
  return line;
}

function letters(text: string): number {
  return text.match(/\p{L}/gu)?.length ?? 0;
}

/** Removes all that may be a secret. A missing word does not harm a title, so any long word of letters and digits goes. */
export function withoutSecrets(text: string): string {
  return redactSecrets(text, { isStrict: true })
    .replaceAll(/\[redacted: [a-zA-Z ]+\]/g, "")
    .replaceAll(/\S+/g, (word) => (isSecret(word) ? "" : word));
}

const MIN_RANDOM_CHARS = 20;
/** Base64 can look like a path, but a path of this length has a dot, or no capitals and digits. */
const base64 = /^(?=.*[a-z])(?=.*[A-Z])(?=(?:.*\d){3})[A-Za-z0-9+/]{32,}=*$/;

function isSecret(word: string): boolean {
  const bare = word.replaceAll(/^[^\p{L}\d]+|(?<![^\p{L}\d=])[^\p{L}\d=]+$/gu, "");
  if (base64.test(bare)) return true;
  return bare.split(/[/\\:=,;()[\]{}"'`<>@]/).some(looksRandom);
}

function looksRandom(part: string): boolean {
  if (part.length < MIN_RANDOM_CHARS || !/^[A-Za-z0-9+_=.-]+$/.test(part)) return false;
  const isNamed = part.split(/[-_.+=]/).every((piece) => /^(?:[A-Za-z]*|\d{1,8}|[a-z]+\d{1,4})$/.test(piece));
  return !isNamed && (part.match(/\d/g)?.length ?? 0) >= 3 && /[A-Za-z]/.test(part);
}
