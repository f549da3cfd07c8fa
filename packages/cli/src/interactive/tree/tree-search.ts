import { sizeBeforeText } from "@bonsai-agent/compaction/host";
import { messageText } from "@bonsai-agent/messages";
import { textPart } from "@bonsai-agent/messages/host";
import { type Entry, entryParts, entryTexts, type SessionTree } from "@bonsai-agent/session";
import { callInTree, fitPreview, type Preview, previewText } from "../../views/preview.ts";
import { oneLine, truncate } from "../../views/terminal-text.ts";
import { isWork } from "../../views/tree-view.ts";

type TreeEntry = SessionTree["entries"][number];

/** Characters before the word in an excerpt. */
const LEAD_CHARS = 24;
const EXCERPT_CHARS = 160;

/**
 * Owner of the filter and the search in a tree's entries. A search first finds words in the rows that were read before,
 * then `read` searches whole entries, the newest first.
 */
export class TreeSearch {
  readonly tree: SessionTree;
  readonly #previews: (RowPreview | undefined)[];
  /** Labels given since the tree was read. */
  readonly #labels = new Map<number, string | undefined>();
  #filter: TreeFilter;
  #search = "";
  /** In lower case. */
  #words: readonly string[] = [];
  /** The search has not read the entries before this position. */
  #unread: number;
  /** The text around the word, for hits that a row does not show. */
  readonly #excerpts = new Map<number, string>();
  /** Entries without the words of this or a shorter search. */
  readonly #misses = new Set<number>();
  /** True if entries read since may change the visible ones. */
  #isStale = false;

  constructor(tree: SessionTree, filter: TreeFilter) {
    this.tree = tree;
    this.#previews = new Array(tree.entries.length).fill(undefined);
    this.#unread = tree.entries.length;
    this.#filter = filter;
  }

  get filter(): TreeFilter {
    return this.#filter;
  }

  get search(): string {
    return this.#search;
  }

  /** The searched share of the tree, 0 to 1. */
  get searchProgress(): number {
    return this.#unread === 0 ? 1 : 1 - this.#unread / this.tree.entries.length;
  }

  entryAt(at: number): TreeEntry {
    return this.tree.entries[at]!;
  }

  labelOf(at: number): string | undefined {
    return this.#labels.has(at) ? this.#labels.get(at) : this.tree.labelOf(at);
  }

  preview(at: number): RowPreview {
    return this.#previews[at] ?? this.#keepPreview(at, readEntry(this.tree, at));
  }

  /** The text of a row; for a hit deep in an entry, the text around it. */
  wordsOf(at: number): string {
    return this.#excerpts.get(at) ?? this.preview(at).text;
  }

  /** The same in fewer columns. */
  fittedWordsOf(at: number, columns: number): string {
    const excerpt = this.#excerpts.get(at);
    return excerpt === undefined ? fitPreview(this.preview(at).parts, columns) : truncate(excerpt, columns);
  }

  setFilter(filter: TreeFilter): void {
    this.#filter = filter;
    this.#unread = this.tree.entries.length;
  }

  setSearch(search: string): void {
    if (!search.startsWith(this.#search)) this.#misses.clear();
    this.#search = search;
    this.#words = search.toLowerCase().split(/\s+/).filter(Boolean);
    this.#excerpts.clear();
    this.#unread = this.tree.entries.length;
  }

  setLabel(at: number, label: string | undefined): void {
    this.#labels.set(at, label);
    this.#misses.delete(at);
    this.#excerpts.delete(at);
    this.#unread = this.tree.entries.length;
  }

  /** Reads more entries for the search. */
  read(entries: number): void {
    for (let left = entries; left > 0 && this.#unread > 0; ) {
      this.#unread -= 1;
      const at = this.#unread;
      if (this.#previews[at] !== undefined && !this.#mayBeHit(at)) continue;
      this.#readAt(at);
      left -= 1;
    }
    this.#isStale = true;
  }

  /** True for a visible entry, as far as known. */
  protected lets(at: number): boolean {
    return this.#passes(at) && (this.#hasInView(at) || this.#excerpts.has(at));
  }

  /** True once if entries read since may change the visible ones. */
  protected takeNews(): boolean {
    if (!this.#isStale || (this.#words.length === 0 && this.#filter !== "no tools")) return false;
    this.#isStale = false;
    return true;
  }

  #readAt(at: number): void {
    const entry = readEntry(this.tree, at);
    this.#keepPreview(at, entry);
    if (!this.#mayBeHit(at)) return;
    const text = entry === undefined ? "" : [...entryTexts(entry)].join("\n");
    const searched = `${text}\n${this.entryAt(at).kind} ${this.labelOf(at) ?? ""}`.toLowerCase();
    if (this.#words.every((word) => searched.includes(word)))
      this.#excerpts.set(at, excerptOf(text, this.#words));
    else this.#misses.add(at);
  }

  #keepPreview(at: number, entry: Entry | undefined): RowPreview {
    const preview = entry === undefined ? damaged : previewIn(this.tree, at, entry);
    this.#previews[at] = preview;
    return preview;
  }

  /** True if only the whole text can tell whether the entry has the words. */
  #mayBeHit(at: number): boolean {
    return !this.#misses.has(at) && !this.#excerpts.has(at) && this.#passes(at) && !this.#hasInView(at);
  }

  #passes(at: number): boolean {
    const isOnlyCalls = this.#previews[at]?.isOnlyCalls ?? false;
    return filterLets(this.#filter, { entry: this.entryAt(at), label: this.labelOf(at), isOnlyCalls });
  }

  #hasInView(at: number): boolean {
    if (this.#words.length === 0) return true;
    const text = this.#previews[at]?.searched ?? this.entryAt(at).kind;
    const label = this.labelOf(at)?.toLowerCase();
    return this.#words.every((word) => text.includes(word) || label?.includes(word) === true);
  }
}

/** The text around the last word: the preview may show the others. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = Math.max(...words.map((word) => lower.indexOf(word)));
  // A change of case can change the length; a slightly shifted excerpt does no harm.
  const from = Math.max(0, found - LEAD_CHARS);
  return `${from > 0 ? "…" : ""}${oneLine(textPart(text, from, from + EXCERPT_CHARS))}`;
}

interface RowPreview {
  text: string;
  parts: Preview;
  /** In lower case. */
  searched: string;
  isOnlyCalls: boolean;
  /** The size before a compaction. */
  size?: string | undefined;
  /** NaN without a readable time. */
  timeMs: number;
}

const damaged: RowPreview = {
  text: "(damaged)",
  parts: [{ text: "(damaged)" }],
  searched: "damaged",
  isOnlyCalls: false,
  timeMs: Number.NaN,
};

function previewIn(tree: SessionTree, at: number, entry: Entry): RowPreview {
  const parts = entryParts(entry, callInTree(tree, at, entry));
  const text = previewText(parts);
  const size = entry.type === "compaction" ? sizeBeforeText(entry) : undefined;
  return {
    text,
    parts,
    searched: `${tree.entries[at]!.kind} ${text}`.toLowerCase(),
    size,
    isOnlyCalls: isOnlyCalls(entry),
    timeMs: Date.parse(entry.timestamp),
  };
}

function isOnlyCalls(entry: Entry): boolean {
  if (entry.type !== "message" || entry.message?.role !== "assistant") return false;
  const { stopReason } = entry.message;
  return stopReason === "toolUse" && messageText(entry.message).trim() === "";
}

/** @returns undefined for a damaged entry or a missing file */
function readEntry(tree: SessionTree, at: number): Entry | undefined {
  try {
    return tree.entry(at) as Entry | undefined;
  } catch {
    // Going there reports the reason.
    return undefined;
  }
}

export type TreeFilter = "default" | "no tools" | "user only" | "labelled" | "all";

/** In the order of the key. */
const treeFilters: readonly TreeFilter[] = ["default", "no tools", "user only", "labelled", "all"];

export function filterAfter(filter: TreeFilter, steps: number): TreeFilter {
  const { length } = treeFilters;
  return treeFilters[(treeFilters.indexOf(filter) + steps + length) % length]!;
}

interface FilteredEntry {
  entry: TreeEntry;
  label: string | undefined;
  /** True for an answer with tool calls and no text. */
  isOnlyCalls: boolean;
}

function filterLets(filter: TreeFilter, { entry, label, isOnlyCalls }: FilteredEntry): boolean {
  switch (filter) {
    case "all":
      return true;
    case "labelled":
      return label !== undefined;
    case "user only":
      return entry.kind === "user" && entry.type === "message";
    case "no tools":
      return isWork(entry) && entry.kind !== "result" && !isOnlyCalls;
    case "default":
      return isWork(entry) || label !== undefined;
  }
}
