import {
  askedText,
  authorizationPattern,
  byScript,
  secretShapes,
  typedLine,
  typedText,
  type UserMessage,
  withoutTerminalControls,
} from "@bonsai-agent/messages";

/** About as much as fits one line of a list. */
const TITLE_TOKENS = 20;
/** No title needs more of a text to be made of; a pasted log can be large. */
const LOOKED_AT_CHARACTERS = 10_000;
const LEAST_LETTERS = 3;

/**
 * A title made of what the user asked for first: how its first telling line begins. Undefined for a text that tells
 * nothing. Same text, same title.
 */
export function titleOf(request: string): string | undefined {
  const line = linesOf(request)
    .map(withoutGreeting)
    .find((each) => letters(each) >= LEAST_LETTERS && !isTrivial(each));
  return line === undefined ? undefined : title(firstSentence(line));
}

/** What a user asked for: as it was typed, with what a template made of it behind it. */
export function requestText(message: UserMessage): string {
  return typedLine(message) === undefined ? typedText(message) : askedText(message);
}

/** A model's title, in one line and without what models put around it; undefined where nothing is left. */
export function cleanTitle(answer: string): string | undefined {
  const line = linesOf(answer).find((each) => letters(each) >= LEAST_LETTERS);
  return line === undefined
    ? undefined
    : title(line.replace(/^(?:title|titel|titre|título|标题|タイトル)\s*[:：]\s*/i, ""));
}

/** What a text says, on one line: without code, marks and secrets. */
export function proseOf(text: string): string {
  const lines = linesOf(text).filter((line) => line !== "");
  return lines.join(" ").replaceAll(/\s+/g, " ");
}

/** The lines of a text, without blocks, secrets and marks. */
function linesOf(text: string): string[] {
  const bare = withoutSecrets(withoutBlocks(plain(text.slice(0, LOOKED_AT_CHARACTERS))));
  return bare.split("\n").map(withoutMarks);
}

/** Within a number of tokens, ended at a word. */
export function shortened(text: string, maxTokens: number): string {
  const single = text.replaceAll(/\s+/g, " ").trim();
  if (byScript(single) <= maxTokens) return single;
  const parts = single.match(word) ?? [];
  return within(maxTokens, (tokens) => {
    const kept = parts.slice(0, fitting(parts, tokens)).join("");
    return withoutTail(kept === "" ? characters(single, tokens) : kept);
  });
}

/** A word where there are any, a character in scripts that have none; with the space before it. */
const word =
  /\s?[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|\s?[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+/gu;

function title(text: string): string | undefined {
  const begun = withoutOpenBracket(text).replace(/^[\s\p{P}\p{S}]+(?=[\p{L}\p{N}])/u, leading);
  const bare = within(TITLE_TOKENS, (tokens) =>
    withoutOpenBracket(shortened(begun, tokens)).replace(ENDING, ""),
  );
  return letters(bare) >= LEAST_LETTERS ? bare : undefined;
}

/** A text without its end can count for more than with it, where the script changes. */
function within(maxTokens: number, cut: (tokens: number) => string): string {
  let tokens = maxTokens;
  let text = cut(tokens);
  while (byScript(text) > maxTokens && tokens > 1) text = cut(--tokens);
  return text;
}

/** What ends no title: punctuation other than what closes something. */
const ENDING = /[\s,;:.!?…·、。，；：！？–—\-'"“”‘’„«»|/\\&+=*#([{<]+$/u;

/** `.gitignore`, `#12`, `@scope/name`, `/etc/hosts`, `$HOME`, `--flag` and `(…)` belong to what they stand before. */
function leading(marks: string): string {
  return /[.#@/$~]$|--?$|[([¿¡]$/u.exec(marks)?.[0] ?? "";
}

/** How many of the parts fit. */
function fitting(parts: readonly string[], maxTokens: number): number {
  let count = 0;
  let text = "";
  for (const part of parts) {
    text += part;
    if (byScript(text) > maxTokens) break;
    count += 1;
  }
  return count;
}

/** One word alone can be too long. */
function characters(text: string, maxTokens: number): string {
  const all = [...text];
  let count = Math.min(all.length, maxTokens * 4);
  while (count > 1 && byScript(all.slice(0, count).join("")) > maxTokens) count -= 1;
  return all.slice(0, count).join("");
}

/** Small words at the place of the cut lead on to what is not there. */
function withoutTail(text: string): string {
  return text
    .replace(ENDING, "")
    .replace(/(?:\s\p{Ll}{1,3}){1,3}$/u, "")
    .replace(ENDING, "");
}

function withoutOpenBracket(text: string): string {
  const at = Math.max(text.lastIndexOf("("), text.lastIndexOf("["), text.lastIndexOf("{"));
  return at > 0 && !/[)\]}]/.test(text.slice(at)) ? text.slice(0, at) : text;
}

/** Without what terminals and right-to-left overrides would make of it. */
function plain(text: string): string {
  return withoutTerminalControls(text.toWellFormed())
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffd]/g, "")
    .replaceAll(/\p{Cc}/gu, (each) => (each === "\n" ? each : " "));
}

/** Code, files and reminders are no words of the user's. */
function withoutBlocks(text: string): string {
  return text
    .replaceAll(/```[\s\S]*?(?:```|$)/g, "\n")
    .replaceAll(/<([a-z][\w-]{0,40})\b[^>]{0,400}>[\s\S]*?<\/\1>/gi, "\n");
}

/** Markdown's marks for headings, lists, quotations and emphasis. */
function withoutMarks(line: string): string {
  return line
    .replace(/^\s*(?:(?:#{1,6}|[-*+>•]|\d{1,2}[.)])\s+)+/, "")
    .replaceAll(/`|\*\*|__/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

const greeting =
  /^(?:(?:hi|hello|hey|hallo|moin|servus|bonjour|salut|hola|ciao|olá|ola|привет|здравствуйте|你好|您好|こんにちは|안녕하세요)(?:\s+(?:there|all|everyone|team|zusammen|à tous))?(?:[\s,!.:;，！。、]+|$)|(?:please|pls|bitte|por favor|s'il (?:te|vous) pla[iî]t|пожалуйста)[\s,]+|请(?=\p{L}))+/iu;

/** What was left of a sentence begins as the sentence did. */
function withoutGreeting(line: string): string {
  const rest = line.replace(greeting, "").trim();
  const wasCapital = rest !== line && /^\p{Lu}/u.test(line);
  return wasCapital ? rest.replace(/^\p{Ll}(?=\p{Ll}*(?:\s|$))/u, (letter) => letter.toUpperCase()) : rest;
}

const trivial =
  /^(?:(?:ok|okay|yes|yeah|no|nope|continue|go on|go ahead|proceed|next|thanks|thank you|great|cool|test|ping|weiter|ja|nein|danke|oui|non|merci|si|sí|gracias|да|нет|спасибо|好的|谢谢|继续|はい|いいえ|ありがとう)[\s.,!…。！]*)+$/iu;

/** Greetings and consent tell nothing, nor does a command of the interface. */
function isTrivial(line: string): boolean {
  return trivial.test(line) || /^\/[\w-]+$/.test(line);
}

const LEAST_SENTENCE_CHARACTERS = 12;

function firstSentence(line: string): string {
  for (const end of line.matchAll(/(?<![.!?…])[.!?…]+(?=\s)|[。！？]+/g)) {
    const until = end.index + end[0].length;
    if (
      letters(line.slice(0, until)) >= (/[。！？]/.test(end[0]) ? LEAST_LETTERS : LEAST_SENTENCE_CHARACTERS)
    )
      return line.slice(0, until);
  }
  return line;
}

function letters(text: string): number {
  return text.match(/\p{L}/gu)?.length ?? 0;
}

/**
 * The text without what may be a secret. A title loses nothing by one word too few, so that a long word of letters and
 * digits is taken for one, whatever it is.
 */
export function withoutSecrets(text: string): string {
  // Before the shapes: of a key file that is cut off, whatever follows goes.
  const withoutKeyFiles = text.replaceAll(/-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g, " ");
  return secretShapes
    .reduce((sum, { pattern }) => sum.replaceAll(pattern, " "), withoutKeyFiles)
    .replaceAll(/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]*@/gi, "$1")
    .replaceAll(authorizationPattern, (all: string, before: string, value: string) =>
      /^B/.test(before) || /\d/.test(value) ? before.trim() : all,
    )
    .replaceAll(named, "$1")
    .replaceAll(/\S+/g, (word) => (isSecret(word) ? "" : word));
}

/** `password: x`, `API_KEY=x`, `the password is x`: the name stays. */
const named =
  /((?<![\p{L}\d_-])[\p{L}\d_-]*(?:passw(?:or)?[dt]|passphrase|pwd|secret|token|credential|api[-_ ]?key|access[-_ ]?key|auth[-_]?key|contraseña|密码|密碼|パスワード|пароль)[\p{L}\d_-]*)["'`]?(?:\s*(?:[:=：]|=>)\s*|\s+(?:is|ist|es|est|=)\s+|(?:是|は)\s*)["'`]?[^\s"'`]+/giu;

/** Enough by themselves: not those that names in code have as well. */
const knownBeginnings = new RegExp(
  `^(?:${secretShapes
    .flatMap(({ beginning = [], isCommonBeginning }) => (isCommonBeginning ? [] : beginning))
    .join("|")})`,
);
const LEAST_KNOWN_CHARACTERS = 12;
const LEAST_RANDOM_CHARACTERS = 20;
/** Base64 can look like a path; but no path is so long without a dot, and has capitals and digits. */
const base64 = /^(?=.*[a-z])(?=.*[A-Z])(?=(?:.*\d){3})[A-Za-z0-9+/]{32,}=*$/;

function isSecret(word: string): boolean {
  const bare = word.replaceAll(/^[^\p{L}\d]+|(?<![^\p{L}\d=])[^\p{L}\d=]+$/gu, "");
  if (bare.length >= LEAST_KNOWN_CHARACTERS && knownBeginnings.test(bare)) return true;
  if (base64.test(bare)) return true;
  return bare.split(/[/\\:=,;()[\]{}"'`<>@]/).some(looksRandom);
}

function looksRandom(part: string): boolean {
  if (part.length < LEAST_RANDOM_CHARACTERS || !/^[A-Za-z0-9+_=.-]+$/.test(part)) return false;
  return (part.match(/\d/g)?.length ?? 0) >= 3 && /[A-Za-z]/.test(part);
}
