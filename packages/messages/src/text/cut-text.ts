// Shortens texts between characters. Imports nothing, so that a browser can use it too.

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
