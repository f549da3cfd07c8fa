// Finds the thinking that a server without a reasoning parser leaves in the text of an answer.

/** Thinking tags: brackets and names. */
const TAGS: readonly (readonly [open: string, close: string, names: readonly string[]])[] = [
  ["<", ">", ["think", "thinking", "thought", "thoughts", "seed:think"]],
  ["[", "]", ["think"]],
  ["◁", "▷", ["think"]],
];

const pairs = TAGS.flatMap(([open, close, names]) =>
  names.map((name) => ({ opener: `${open}${name}${close}`, closer: `${open}/${name}${close}` })),
);

/** A part of an answer's text. */
interface TextPiece {
  isThinking: boolean;
  text: string;
}

/**
 * Separates the thinking before an answer from the answer while the text streams in. Holds back characters that may
 * still become a tag.
 */
export class LeadingThinking {
  #held = "";
  /** The closing tag of the thinking that has begun. */
  #closer: string | undefined;
  #isOver = false;
  #hasThought: boolean;

  /** @param isBehind true if the thinking has just ended, so that blank lines before the answer are dropped */
  constructor({ isBehind = false } = {}) {
    this.#hasThought = isBehind;
  }

  /** Takes the next piece of the text. Returns the parts that are certain now. */
  take(delta: string): TextPiece[] {
    if (this.#isOver) return [{ isThinking: false, text: delta }];
    this.#held += delta;
    const pieces: TextPiece[] = [];
    for (let isCertain = true; isCertain; )
      isCertain = this.#closer === undefined ? this.#begin(pieces) : this.#think(this.#closer, pieces);
    return pieces;
  }

  /** Ends the text and returns the held characters. */
  end(): TextPiece[] {
    const isThinking = this.#closer !== undefined;
    const text = this.#held;
    this.#isOver = true;
    this.#held = "";
    this.#closer = undefined;
    return text.trim() === "" ? [] : [{ isThinking, text }];
  }

  /** Looks for a tag at the beginning. Returns true if there is more to read. */
  #begin(pieces: TextPiece[]): boolean {
    const text = this.#held.trimStart();
    const start = text.toLowerCase();
    for (const { opener, closer } of pairs) {
      const tag = [opener, closer].find((each) => start.startsWith(each));
      if (tag === undefined) continue;
      this.#hasThought = true;
      this.#held = text.slice(tag.length);
      // For a closing tag alone, the server removed the thinking but left its end.
      if (tag === opener) this.#closer = closer;
      return true;
    }
    if (pairs.some(({ opener, closer }) => opener.startsWith(start) || closer.startsWith(start)))
      return false;
    pieces.push({ isThinking: false, text: this.#hasThought ? text : this.#held });
    this.#held = "";
    this.#isOver = true;
    return false;
  }

  /** Looks for the end of the thinking. Returns true if it was found. */
  #think(closer: string, pieces: TextPiece[]): boolean {
    const lower = this.#held.toLowerCase();
    const at = lower.indexOf(closer);
    const end = at < 0 ? this.#held.length - partAtEnd(lower, closer) : at;
    if (end > 0) pieces.push({ isThinking: true, text: this.#held.slice(0, end) });
    this.#held = this.#held.slice(at < 0 ? end : at + closer.length);
    if (at < 0) return false;
    this.#closer = undefined;
    return true;
  }
}

/** Length of the longest beginning of a tag at the end of a text. */
function partAtEnd(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(tag.slice(0, length))) return length;
  return 0;
}

/** Longer than any tag and the line break after it. */
export const TAG_CHARS = 24;

const anyOpener = /<(?:seed:)?(?:think|thinking|thoughts?)>|\[think\]|◁think▷/i;
const closers = "<\\/(?:seed:)?(?:think|thinking|thoughts?)>|\\[\\/think\\]|◁\\/think▷";
const loneCloser = new RegExp(`(?<=^|\\n)[ \\t]*(${closers})|(${closers})[ \\t]*(?:\\n|$)`, "gi");

/**
 * Finds the end of thinking that began without a tag, because the server's template wrote the opening tag. The end is at
 * the start or the end of a line; a tag inside a sentence is text.
 * @param isWhole false while more text may come: then the text's end does not end a line
 */
export function untaggedThinking(
  text: string,
  { from = 0, isWhole = true } = {},
): { thinking: string; rest: string } | undefined {
  loneCloser.lastIndex = from;
  const found = loneCloser.exec(text);
  if (found === null) return undefined;
  const [match, atStart, atEnd = ""] = found;
  const tag = atStart ?? atEnd;
  const at = found.index + match.indexOf(tag);
  if (!isWhole && atStart === undefined && !match.endsWith("\n")) return undefined;
  const thinking = text.slice(0, at);
  const isCode = (thinking.match(/^ {0,3}(?:```|~~~)/gm) ?? []).length % 2 === 1;
  if (isCode || anyOpener.test(thinking)) return undefined;
  return { thinking: thinking.trim(), rest: text.slice(at + tag.length).trimStart() };
}

/** Separates the thinking of a whole answer from the rest. */
export function splitThinking(answer: string): { thinking: string; text: string } {
  const reader = new LeadingThinking();
  const pieces = [...reader.take(answer), ...reader.end()];
  const joined = (isThinking: boolean) =>
    pieces.map((piece) => (piece.isThinking === isThinking ? piece.text : "")).join("");
  const thinking = joined(true);
  const text = joined(false);
  const untagged = thinking === "" ? untaggedThinking(text) : undefined;
  return untagged === undefined ? { thinking, text } : { thinking: untagged.thinking, text: untagged.rest };
}
