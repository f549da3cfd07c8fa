import { computed, effect, signal } from "@preact/signals";
import type { EntryBody } from "../../src/page-data.ts";
import { body, page } from "../page-store.ts";
import { shownPath } from "../session-tree.ts";

/** What is looked for; empty for nothing. Folded parts that hold it are open meanwhile. */
export const query = signal("");
export const isFinding = signal(false);
/** Rows of the branch that hold it, as they are found. */
export const hits = signal<ReadonlyMap<number, number>>(new Map());
/** From 0 to 1. */
export const progress = signal(1);
/** Which of the rows with hits is looked at. */
export const current = signal(-1);

export const hitCount = computed(() => [...hits.value.values()].reduce((sum, count) => sum + count, 0));

let search = 0;

/** Reads the branch from its beginning, a chunk after the other; who types on begins anew. */
effect(() => {
  const wanted = query.value.toLowerCase();
  const path = shownPath.value;
  search += 1;
  if (wanted === "") {
    hits.value = new Map();
    progress.value = 1;
    current.value = -1;
    return;
  }
  void searchPath(search, wanted, path);
});

const STEP_ROWS = 200;

async function searchPath(mine: number, wanted: string, path: readonly number[]): Promise<void> {
  const found = new Map<number, number>();
  current.value = -1;
  for (const [at, row] of path.entries()) {
    const count = occurrences(entryText(await body(row), row), wanted);
    if (mine !== search) return;
    if (count > 0) found.set(row, count);
    if (at % STEP_ROWS === STEP_ROWS - 1) {
      hits.value = new Map(found);
      progress.value = at / path.length;
      // The page stays alive while a long session is read.
      await new Promise((resolve) => setTimeout(resolve));
      if (mine !== search) return;
    }
  }
  hits.value = found;
  progress.value = 1;
}

/** Goes to the next row with a hit, or to the one before. */
export function step(by: 1 | -1): number | undefined {
  const rows = [...hits.value.keys()];
  if (rows.length === 0) return undefined;
  const at = rows.indexOf(current.value);
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : (at + by + rows.length) % rows.length;
  current.value = rows[next]!;
  return rows[next];
}

/** All that can be read of an entry, folded or not. */
export function entryText({ parts, summary }: EntryBody, row: number): string {
  const texts = [page.peek()?.rows.ids[row] ?? "", page.peek()?.labels.find(([at]) => at === row)?.[1] ?? ""];
  for (const part of parts) {
    if (part.type === "image") continue;
    if (part.type === "facts") texts.push(...part.rows.flat());
    else if (part.type === "call") {
      texts.push(part.title, part.arguments, part.code?.text ?? "", diffText(part.diff));
    } else texts.push(part.text, part.type === "output" ? diffText(part.diff) : "");
  }
  if (summary !== undefined) texts.push(...summary.loss.map(({ text }) => text));
  return texts.join("\n").toLowerCase();
}

function diffText(diff: { unified: string } | { before: string; after: string } | undefined): string {
  if (diff === undefined) return "";
  return "unified" in diff ? diff.unified : `${diff.before}\n${diff.after}`;
}

function occurrences(text: string, wanted: string): number {
  let count = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) count += 1;
  return count;
}

/** Marks what was found in what is drawn, where the browser can: the page itself stays as it is. */
export function markHits(element: HTMLElement): void {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete("found");
  const wanted = query.peek().toLowerCase();
  if (wanted === "") return;
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null && ranges.length < 2_000; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? "";
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + wanted.length, node.nodeValue!.length));
      ranges.push(range);
    }
  }
  if (ranges.length > 0) CSS.highlights.set("found", new Highlight(...ranges));
}
