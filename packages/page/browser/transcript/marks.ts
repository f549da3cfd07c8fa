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

const MOST_MARKED = 2_000;

function firstRanges(element: HTMLElement, wanted: string): Range[] {
  const ranges: Range[] = [];
  for (const range of rangesIn(element, wanted)) {
    ranges.push(range);
    if (ranges.length === MOST_MARKED) break;
  }
  return ranges;
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
  let last: Range | undefined;
  let number = 0;
  for (const range of rangesIn(entry, wanted)) {
    last = range;
    if (number === hit) return { range, isBehind: false };
    number += 1;
  }
  const more = entry.querySelector("button.more");
  // What was counted may be drawn otherwise: then the last one stands for it.
  if (more === null) return { ...(last && { range: last }), isBehind: false };
  const way = new Range();
  way.selectNodeContents(more);
  return { range: way, isBehind: true };
}

/** What begins a text of its own: a hit goes over the bounds of words in it, and over no other. */
const BLOCKS =
  "p, pre, li, td, th, h1, h2, h3, h4, h5, h6, blockquote, summary, dt, dd, div, header, article";

/** A run of drawn texts that read as one. */
interface TextRun {
  block: Element | null;
  text: string;
  nodes: Array<{ node: Node; from: number }>;
}

function* rangesIn(element: HTMLElement, wanted: string): Generator<Range> {
  if (wanted === "") return;
  for (const run of runsIn(element)) {
    const text = run.text.toLowerCase();
    // A few letters are longer when they are small; of such a text no place could be told.
    if (text.length !== run.text.length) continue;
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
      yield rangeOf(run, at, at + wanted.length);
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

function rangeOf(run: TextRun, from: number, to: number): Range {
  const [first, last] = [nodeAt(run, from), nodeAt(run, to - 1)];
  const range = new Range();
  range.setStart(first.node, from - first.from);
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
