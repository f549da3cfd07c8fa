// Shortens texts and lines. Imports nothing, so that a browser can use it too.

/** The first `maxChars` UTF-16 units of a text. Drops a character that the cut would split. */
export function textHead(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, characterStart(text, Math.max(0, maxChars)));
}

/** The last `maxChars` UTF-16 units of a text. Drops a character that the cut would split. */
export function textTail(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return text.slice(characterEnd(text, text.length - Math.max(0, maxChars)));
}

/** A part of a text. Drops the characters that its ends would split. */
export function textPart(text: string, from: number, to: number): string {
  const start = characterEnd(text, Math.max(0, from));
  return text.slice(start, Math.max(start, to >= text.length ? text.length : characterStart(text, to)));
}

/** Shortens a text to `maxChars` UTF-16 units. A shortened text ends with `…`. */
export function shortened(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${textHead(text, maxChars - 1).trimEnd()}…`;
}

/** Removes the middle of a text longer than `maxChars`. Head and tail stay, because errors stand at the end. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const marker = (missing: number) => `\n[… ${missing} more characters …]\n`;
  const keptChars = Math.max(0, maxChars - marker(text.length).length - 1);
  const head = textHead(text, Math.ceil(keptChars / 2));
  const tail = textTail(text, Math.floor(keptChars / 2));
  return `${head}${marker(text.length - head.length - tail.length)}${tail}`;
}

const CLIP_MARKER = /\n\[… \d+ more characters …\]\n/g;

/** True if the texts are equal, or `clip` can have made the first of the second. */
export function isClipOf(clipped: string, text: string): boolean {
  if (clipped === text) return true;
  return [...clipped.matchAll(CLIP_MARKER)].some(({ 0: { length }, index }) => {
    return text.startsWith(clipped.slice(0, index)) && text.endsWith(clipped.slice(index + length));
  });
}

/** Marks, joiners, selectors and skin tones belong to the character before them. */
const JOINED = /^(?:\p{M}|\p{Emoji_Modifier}|\u200d)/u;
const JOINER = "\u200d";
/** Maximum length of a character with its marks. A longer run is cut. */
const MAX_CHARACTER_UNITS = 32;

/** The latest start of a character that is not after this place. */
function characterStart(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < MAX_CHARACTER_UNITS && splits(text, start)) start -= 1;
  return splitsPair(text, start) ? start - 1 : start;
}

/** The earliest start of a character that is not before this place. */
function characterEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && end - at < MAX_CHARACTER_UNITS && splits(text, end)) end += 1;
  return splitsPair(text, end) ? end + 1 : end;
}

function splits(text: string, at: number): boolean {
  if (splitsPair(text, at)) return true;
  return text[at - 1] === JOINER || JOINED.test(text.slice(at, at + 2));
}

function splitsPair(text: string, at: number): boolean {
  return isBetween(text.charCodeAt(at - 1), 0xd800, 0xdbff) && isBetween(text.charCodeAt(at), 0xdc00, 0xdfff);
}

function isBetween(code: number, from: number, to: number): boolean {
  return code >= from && code <= to;
}

/** A part of a line. The parts follow each other as they are, with nothing between them. */
export interface LinePart {
  readonly text: string;
  /** A path: its end says more than its beginning. Default: false. */
  readonly isPath?: boolean;
}

/**
 * The parts as one text of at most `maxChars` characters. Paths lose folders from their beginning first. If the text is
 * still too long, it ends at a word's end, if one is near, and in `…`.
 */
export function lineText(parts: readonly LinePart[], maxChars: number): string {
  const texts = parts.map(({ text }) => text);
  let over = texts.reduce((sum, text) => sum + text.length, -maxChars);
  for (let at = parts.findLastIndex(({ isPath }) => isPath === true); at >= 0 && over > 0; at -= 1) {
    if (parts[at]!.isPath !== true) continue;
    const shown = fitPath(texts[at]!, Math.max(MIN_PATH_CHARS, texts[at]!.length - over));
    over -= texts[at]!.length - shown.length;
    texts[at] = shown;
  }
  const text = texts.join("");
  const characters = [...text.slice(0, 2 * maxChars + 2)];
  if (characters.length <= maxChars) return characters.join("");
  const cut = characters.slice(0, maxChars - 1).join("");
  const end = /\s/.test(characters[maxChars - 1]!) ? cut.length : cut.search(/\s+\S*$/);
  return `${(end > cut.length / 2 ? cut.slice(0, end) : cut).trimEnd()}…`;
}

/** A shorter path says too little. */
const MIN_PATH_CHARS = 24;
const MIN_NAME_COLUMNS = 8;

/**
 * `…/chat/tool-block.ts`: as many of the last folders as fit; of a long name its end.
 * @param width of a text. Default: its length
 */
export function fitPath(
  path: string,
  maxWidth: number,
  width: (text: string) => number = ({ length }) => length,
): string {
  const names = path.split(/(?<=[/\\])/);
  let shown = path;
  for (let from = 1, start = 0; from < names.length && width(shown) > maxWidth; from += 1) {
    start += names[from - 1]!.length;
    shown = `…${path.slice(start - 1)}`;
  }
  if (width(shown) > maxWidth && maxWidth >= MIN_NAME_COLUMNS) return endOf(shown, maxWidth, width);
  return width(shown) < width(path) ? shown : path;
}

function endOf(text: string, maxWidth: number, width: (text: string) => number): string {
  const characters = [...text];
  while (width(characters.join("")) >= maxWidth) characters.shift();
  return `…${characters.join("")}`;
}
