/** The nearest word, at most one or two letters away, depending on its length. */
export function nearestWord(word: string, words: readonly string[]): string | undefined {
  const near = words
    .filter((each) => Math.abs(each.length - word.length) <= 2)
    .map((each) => ({ each, distance: editDistance(word, each) }))
    .filter(({ each, distance }) => distance <= (each.length < 5 ? 1 : 2))
    .toSorted((a, b) => a.distance - b.distance);
  return near[0]?.each;
}

/** ` Did you mean …?` for a mistyped word; empty without a near word. @param before a prefix of the word */
export function didYouMean(word: unknown, words: readonly string[], before = ""): string {
  const meant = typeof word === "string" ? nearestWord(word, words) : undefined;
  return meant === undefined ? "" : ` Did you mean ${before}${meant}?`;
}

const MAX_NAMES = 8;

/** The names in a line; of many, only the first and a count. */
export function fewOf(names: readonly string[], between = ", "): string {
  const more = names.length - MAX_NAMES;
  return more > 1 ? `${names.slice(0, MAX_NAMES).join(between)} and ${more} more` : names.join(between);
}

/** Letters added, dropped, changed, or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= to.length; at += 1) {
      const same = from[row - 1] === to[at - 1];
      const swapped = from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      next[at] = Math.min(
        last[at]! + 1,
        next[at - 1]! + 1,
        last[at - 1]! + (same ? 0 : 1),
        swapped ? before[at - 2]! + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = last;
    last = next;
  }
  return last[to.length]!;
}
