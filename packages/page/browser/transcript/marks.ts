import { signal } from "@preact/signals";
import { current, query } from "./find.ts";

/** True where the hit that is looked at stands in a part of a long text that nobody asked for yet. */
export const isBehindMore = signal(false);

/**
 * Marks what was found in what is drawn, where the browser can: the page itself stays as it is.
 * @returns where the hit that is looked at stands when it is drawn, or the way to it
 */
export function markHits(element: HTMLElement): Range | undefined {
  const wanted = query.peek().toLowerCase();
  const looked = lookedAt(element, wanted);
  highlight("found", firstRanges(element, wanted));
  highlight("found-now", looked === undefined ? [] : [looked]);
  return looked;
}

function highlight(name: string, ranges: readonly Range[]): void {
  if (!("highlights" in CSS)) return;
  if (ranges.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, new Highlight(...ranges));
}

const MAX_MARKED = 2_000;
/** A browser paints all marks of a line whenever a part of it is drawn: of a line longer than that, so many are marked. */
const LONG_LINE_CHARS = 5_000;
const MAX_IN_LONG_LINE = 50;

function firstRanges(element: HTMLElement, wanted: string): Range[] {
  const ranges: Range[] = [];
  let inRun: { run: TextRun; left: number } | undefined;
  for (const place of placesIn(element, wanted)) {
    if (inRun?.run !== place.run)
      inRun = { run: place.run, left: hasLongLine(place.run) ? MAX_IN_LONG_LINE : MAX_MARKED };
    inRun.left -= 1;
    if (inRun.left >= 0) ranges.push(rangeOf(place, wanted));
    if (ranges.length === MAX_MARKED) break;
  }
  return ranges;
}

function hasLongLine({ text }: TextRun): boolean {
  for (let from = 0; text.length - from > LONG_LINE_CHARS; ) {
    const end = text.lastIndexOf("\n", from + LONG_LINE_CHARS);
    if (end < from) return true;
    from = end + 1;
  }
  return false;
}

/** Looked for by itself: what stands before it may be more than is marked. */
function lookedAt(element: HTMLElement, wanted: string): Range | undefined {
  const looked = current.peek();
  const entry = looked && element.querySelector<HTMLElement>(`[data-row="${looked.row}"]`);
  const found = entry ? hitIn(entry, wanted, looked.at) : { isBehind: false };
  isBehindMore.value = found.isBehind;
  return found.range;
}

function hitIn(entry: HTMLElement, wanted: string, hit: number): { range?: Range; isBehind: boolean } {
  let last: TextPlace | undefined;
  let number = 0;
  for (const place of placesIn(entry, wanted)) {
    last = place;
    if (number === hit) return { range: rangeOf(place, wanted), isBehind: false };
    number += 1;
  }
  // The drawn text can have fewer hits than the counted text: then the last one is the current.
  const more = entry.querySelector("button.more");
  if (more === null) return { ...(last && { range: rangeOf(last, wanted) }), isBehind: false };
  const way = new Range();
  way.selectNodeContents(more);
  return { range: way, isBehind: true };
}

/** Elements that separate texts: a hit can cross inline elements, but not these. */
const BLOCKS =
  "p, pre, li, td, th, h1, h2, h3, h4, h5, h6, blockquote, summary, dt, dd, div, header, article";

/** A run of drawn texts that read as one. */
interface TextRun {
  block: Element | null;
  text: string;
  nodes: Array<{ node: Node; from: number }>;
}

interface TextPlace {
  run: TextRun;
  at: number;
}

function* placesIn(element: HTMLElement, wanted: string): Generator<TextPlace> {
  if (wanted === "") return;
  for (const run of runsIn(element)) {
    const text = run.text.toLowerCase();
    // A few letters are longer when they are small; of such a text no place could be told.
    if (text.length !== run.text.length) continue;
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
      yield { run, at };
  }
}

function* runsIn(element: HTMLElement): Generator<TextRun> {
  let run: TextRun = { block: null, text: "", nodes: [] };
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const block = node.parentElement?.closest(BLOCKS) ?? null;
    if (block !== run.block) {
      yield run;
      run = { block, text: "", nodes: [] };
    }
    run.nodes.push({ node, from: run.text.length });
    run.text += node.nodeValue ?? "";
  }
  yield run;
}

function rangeOf({ run, at }: TextPlace, wanted: string): Range {
  const to = at + wanted.length;
  const [first, last] = [nodeAt(run, at), nodeAt(run, to - 1)];
  const range = new Range();
  range.setStart(first.node, at - first.from);
  range.setEnd(last.node, to - last.from);
  return range;
}

/** The text that a place of the run stands in. */
function nodeAt({ nodes }: TextRun, at: number): { node: Node; from: number } {
  let low = 0;
  let high = nodes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (nodes[middle]!.from <= at) low = middle;
    else high = middle - 1;
  }
  return nodes[low]!;
}
