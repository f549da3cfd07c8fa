// Cuts a text to one line. Imports nothing, so that a browser can use it too.

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
