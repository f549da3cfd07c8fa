import { computed, effect, signal } from "@preact/signals";
import type { EntryBody } from "../../src/page-data.ts";
import { body, connection, generation } from "../page-store.ts";
import { labelOf, shownPath } from "../session-tree.ts";

/** The searched text; empty for no search. Folded parts that contain it are open meanwhile. */
export const query = signal("");
export const isFinding = signal(false);
/** Rows of the branch that hold it, as they are found. */
export const hits = signal<ReadonlyMap<number, number>>(new Map());
/** From 0 to 1. */
export const progress = signal(1);
/** The hit that is looked at: of a row, the one with this number. */
export const current = signal<Hit | undefined>(undefined);

export interface Hit {
  row: number;
  at: number;
}

export const hitCount = computed(() => [...hits.value.values()].reduce((sum, count) => sum + count, 0));

/** The number of the hit that is looked at, from 1; 0 for none. */
export const place = computed(() => {
  const looked = current.value;
  if (looked === undefined) return 0;
  let before = 0;
  for (const [row, count] of hits.value) {
    if (row === looked.row) return before + looked.at + 1;
    before += count;
  }
  return 0;
});

/** A text that is looked for in the rows of a branch, to which more may come. */
interface Search {
  wanted: string;
  path: readonly number[];
  generation: number;
}

let search: Search = { wanted: "", path: [], generation: 0 };

/** Searches the branch from its beginning, chunk by chunk. A changed query starts again. */
effect(() => {
  const begun = search;
  const asked = { wanted: query.value.toLowerCase(), path: shownPath.value, generation: generation.value };
  if (goesOn(begun, asked)) {
    begun.path = asked.path;
    if (progress.peek() === 1) void searchPath(begun);
    return;
  }
  search = asked;
  current.value = undefined;
  hits.value = new Map();
  searched = 0;
  if (asked.wanted !== "") void searchPath(asked);
  else progress.value = 1;
});

/** True if the hits so far are valid for the new path too. */
function goesOn(begun: Search, { wanted, path, generation }: Search): boolean {
  if (wanted === "" || wanted !== begun.wanted || generation !== begun.generation) return false;
  return begun.path.every((row, at) => path[at] === row);
}

/** Milliseconds of searching before the page draws again. */
const SLICE_MS = 12;

/** Number of searched rows of the path. */
let searched = 0;

async function searchPath(mine: Search): Promise<void> {
  const found = new Map(hits.peek());
  progress.value = searched / Math.max(1, mine.path.length);
  let begun = performance.now();
  // The path can grow meanwhile.
  while (searched < mine.path.length) {
    const row = mine.path[searched]!;
    const count = await countIn(row, mine);
    if (mine !== search) return;
    searched += 1;
    if (count > 0) found.set(row, count);
    if (performance.now() - begun > SLICE_MS) {
      hits.value = new Map(found);
      progress.value = searched / mine.path.length;
      await new Promise((resolve) => setTimeout(resolve));
      if (mine !== search) return;
      begun = performance.now();
    }
  }
  hits.value = found;
  progress.value = 1;
}

const AGAIN_MS = 2_000;

/** Hits in a row; 0 if a file's entry cannot be read. A served entry is requested until it can be read. */
async function countIn(row: number, mine: Search): Promise<number> {
  const { wanted } = mine;
  try {
    const found = await body(row);
    const count = occurrences(entryText(found, row, spokenText), wanted);
    // Code keeps the marks of Markdown.
    return /[*_`~\\]/.test(wanted)
      ? Math.max(count, occurrences(entryText(found, row, String), wanted))
      : count;
  } catch {
    if (connection.peek() === "file" || mine !== search) return 0;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    return countIn(row, mine);
  }
}

/** Goes to the next hit, or to the one before; after the last comes the first. */
export function step(by: 1 | -1): Hit | undefined {
  const rows = [...hits.value.keys()];
  if (rows.length === 0) return undefined;
  const { row, at } = current.value ?? { row: -1, at: 0 };
  const place = rows.indexOf(row);
  const isInside = place >= 0 && at + by >= 0 && at + by < hits.value.get(row)!;
  const next = place < 0 ? (by > 0 ? 0 : rows.length - 1) : (place + by + rows.length) % rows.length;
  const other = rows[next]!;
  current.value = isInside
    ? { row, at: at + by }
    : { row: other, at: by > 0 ? 0 : hits.value.get(other)! - 1 };
  return current.value;
}

/** The text of an entry, with folded parts. @param spoken removes the marks of Markdown */
function entryText({ parts, summary }: EntryBody, row: number, spoken: (text: string) => string): string {
  const texts = [labelOf.peek().get(row) ?? ""];
  for (const part of parts) {
    if (part.type === "image") continue;
    if (part.type === "facts") texts.push(...part.rows.flat());
    else if (part.type === "call") {
      texts.push(part.title, part.arguments, part.code?.text ?? "", diffText(part.diff));
    } else if (part.type === "output") texts.push(part.call ?? "", diffText(part.diff), part.text);
    else texts.push(part.type === "markdown" || part.type === "thinking" ? spoken(part.text) : part.text);
  }
  if (summary !== undefined) texts.push(...summary.loss.map(({ text }) => text));
  return texts.join("\n").toLowerCase();
}

/** Parts of Markdown that are not drawn: marks and link targets. Bounded, so that time stays linear. */
const LINKS = /!?\[([^\][]{0,500})\]\((?:https?|mailto):[^()\s]{0,2000}\)/g;
const MARKS =
  /\\(?=[!-/:-@[-`{-~])|\*\*|__(?=\S)|(?<=\S)__|`|~~|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])/g;

/** Markdown about as it is drawn. */
function spokenText(markdown: string): string {
  return markdown.replace(LINKS, "$1").replace(MARKS, "");
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
