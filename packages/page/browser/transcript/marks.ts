import { current, query } from "./find.ts";

/** A browser paints all marks of a line whenever a part of it is drawn. */
const MAX_MARKED = 500;

/**
 * Marks the drawn hits by the browser's highlights, which do not change the page.
 * @returns the place of the current hit, or the button that shows its part of a long text
 */
export function markHits(element: HTMLElement): Range | undefined {
  const wanted = query.peek().toLowerCase();
  const now = currentRange(element, wanted);
  const found: Range[] = [];
  for (const place of placesIn(element, wanted)) {
    found.push(rangeOf(place, wanted));
    if (found.length === MAX_MARKED) break;
  }
  highlight("found", found);
  highlight("found-now", now === undefined ? [] : [now]);
  return now;
}

function highlight(name: string, ranges: readonly Range[]): void {
  if (!("highlights" in CSS)) return;
  if (ranges.length === 0) CSS.highlights.delete(name);
  else CSS.highlights.set(name, new Highlight(...ranges));
}

/** The current hit may be after the last marked one. */
function currentRange(element: HTMLElement, wanted: string): Range | undefined {
  const hit = current.peek();
  const entry = hit && element.querySelector<HTMLElement>(`[data-row="${hit.row}"]`);
  if (!entry) return undefined;
  let last: TextPlace | undefined;
  let number = 0;
  for (const place of placesIn(entry, wanted)) {
    last = place;
    if (number === hit.at) return rangeOf(place, wanted);
    number += 1;
  }
  // The drawn text can have fewer hits than the counted text.
  const more = entry.querySelector("button.more");
  if (more === null) return last && rangeOf(last, wanted);
  const button = new Range();
  button.selectNodeContents(more);
  return button;
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
    // Some letters change their length in lower case, and with it all places after them.
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

/** The text node that contains a place of the run. */
function nodeAt({ nodes }: TextRun, at: number): { node: Node; from: number } {
  return nodes.findLast(({ from }) => from <= at)!;
}
