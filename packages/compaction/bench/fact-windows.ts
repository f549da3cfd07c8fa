// Finds facts in a context: all their words within one window of 400 characters.

const WINDOW_CHARS = 400;
const WORD = /[\p{L}\p{N}_]/u;
/** Scripts without spaces have no word ends. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]/u;
/** Particles are written onto Korean words. */
const HANGUL = /\p{Script=Hangul}/u;
const ENDED = /\[(?:replaced|withdrawn|fixed|done)\b/;

type Span = readonly [from: number, to: number];

export function normal(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** True if one window has a word of each group. */
export function isFactShown(view: string, groups: readonly string[][]): boolean {
  return windows(view, groups).length > 0;
}

/** Tells if one window, or every window, that shows the fact lacks the words that end it. */
export function isShownAsCurrent(
  view: string,
  { must, clearedWords = [] }: { must: readonly string[][]; clearedWords?: string[] },
): { somewhere: boolean; everywhere: boolean } {
  const found = windows(view, must);
  const open = found.filter(([from, to]) => {
    const pad = Math.max(0, Math.floor((WINDOW_CHARS - (to - from)) / 2));
    const window = view.slice(Math.max(0, from - pad), to + pad);
    return !ENDED.test(window) && !clearedWords.some((word) => placesOf(window, word).length > 0);
  });
  return { somewhere: open.length > 0, everywhere: open.length > 0 && open.length === found.length };
}

/** The smallest window from each place where a word of the groups begins. */
function windows(view: string, groups: readonly string[][]): Span[] {
  const places = groups.map((group) => group.flatMap((word) => placesOf(view, word)));
  if (places.some((each) => each.length === 0)) return [];
  const starts = [...new Set(places.flat().map(([from]) => from))].sort((a, b) => a - b);
  return starts.flatMap((start): Span[] => {
    const ends = places.map((each) =>
      Math.min(...each.filter(([from]) => from >= start).map(([, to]) => to)),
    );
    const end = Math.max(...ends);
    return end <= start + WINDOW_CHARS ? [[start, end]] : [];
  });
}

function placesOf(view: string, word: string): Span[] {
  const text = normal(word);
  const found: Span[] = [];
  for (let at = view.indexOf(text); at >= 0; at = view.indexOf(text, at + 1)) {
    const end = at + text.length;
    const isWhole =
      !goesOn(text[0], view[at - 1]) && !(goesOn(text.at(-1), view[end]) && !HANGUL.test(view[end]!));
    if (isWhole) found.push([at, end]);
  }
  return found;
}

/** True if a word continues from one character to its neighbour. */
function goesOn(inner: string | undefined, outer: string | undefined): boolean {
  if (inner === undefined || outer === undefined || !WORD.test(inner) || !WORD.test(outer)) return false;
  return !UNSPACED.test(inner) && !UNSPACED.test(outer);
}
