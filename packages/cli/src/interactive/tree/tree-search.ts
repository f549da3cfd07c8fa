import { sizeBeforeText } from "@bonsai-agent/compaction/host";
import { messageText } from "@bonsai-agent/messages";
import { textPart } from "@bonsai-agent/messages/host";
import { type Entry, entryParts, entryTexts, type SessionTree } from "@bonsai-agent/session";
import { callInTree, fitPreview, type Preview, previewText } from "../../views/preview.ts";
import { oneLine, truncate } from "../../views/terminal-text.ts";

type TreeEntry = SessionTree["entries"][number];

/** Owner of the filter and the search in a tree's entries. */
export class TreeSearch {
  readonly tree: SessionTree;
  /** Filled on demand and by `read`, the newest first. */
  readonly #previews: (RowPreview | undefined)[];
  #readCount = 0;
  /** Labels given since. */
  readonly #labels = new Map<number, string | undefined>();
  #filter: TreeFilter;
  #search = "";
  /** In lower case. */
  #words: readonly string[] = [];
  /** Undefined without a search. */
  #deep: DeepSearch | undefined;
  /** True if entries read since may change the visible ones. */
  #isStale = false;

  constructor(tree: SessionTree, filter: TreeFilter) {
    this.tree = tree;
    this.#previews = new Array(tree.entries.length).fill(undefined);
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
    const { length } = this.#previews;
    return Math.min(length === 0 ? 1 : this.#readCount / length, this.#deep?.progress ?? 1);
  }

  entryAt(at: number): TreeEntry {
    return this.tree.entries[at]!;
  }

  labelOf(at: number): string | undefined {
    return this.#labels.has(at) ? this.#labels.get(at) : this.tree.labelOf(at);
  }

  preview(at: number): RowPreview {
    const known = this.#previews[at];
    if (known !== undefined) return known;
    const entry = readEntry(this.tree, at);
    const preview = entry === undefined ? damaged : previewIn(this.tree, at, entry);
    this.#previews[at] = preview;
    return preview;
  }

  /** The text of a row; for a hit deep in an entry, the text around it. */
  wordsOf(at: number): string {
    return this.#deep?.excerpt(at) ?? this.preview(at).text;
  }

  /** The same in fewer columns. */
  fittedWordsOf(at: number, columns: number): string {
    const excerpt = this.#deep?.excerpt(at);
    return excerpt === undefined ? fitPreview(this.preview(at).parts, columns) : truncate(excerpt, columns);
  }

  setFilter(filter: TreeFilter): void {
    this.#filter = filter;
    this.#deep = this.#newDeepSearch();
  }

  setSearch(search: string): void {
    const isLonger = search.startsWith(this.#search);
    this.#search = search;
    this.#words = search.toLowerCase().split(/\s+/).filter(Boolean);
    this.#deep = this.#newDeepSearch(isLonger ? this.#deep : undefined);
  }

  setLabel(at: number, label: string | undefined): void {
    this.#labels.set(at, label);
    this.#deep = this.#newDeepSearch();
  }

  /** Reads more entries for the search. */
  read(entries: number): void {
    const { length } = this.#previews;
    if (this.#readCount === length) this.#deep?.advance(entries);
    for (let left = entries; left > 0 && this.#readCount < length; left -= 1) {
      this.#readCount += 1;
      this.preview(length - this.#readCount);
    }
    this.#isStale = true;
  }

  /** True for a visible entry, as far as known. */
  protected lets(at: number): boolean {
    return this.#passes(at) && (this.#hasInView(at) || this.#deep?.excerpt(at) !== undefined);
  }

  /** True once if entries read since may change the visible ones. */
  protected takeNews(): boolean {
    if (!this.#isStale || (this.#deep === undefined && this.#filter !== "no tools")) return false;
    this.#isStale = false;
    return true;
  }

  #newDeepSearch(earlier?: DeepSearch): DeepSearch | undefined {
    if (this.#words.length === 0) return undefined;
    return new DeepSearch({
      tree: this.tree,
      words: this.#words,
      earlier,
      isWanted: (at) => this.#passes(at) && !this.#hasInView(at),
      labelOf: (at) => this.labelOf(at),
    });
  }

  #passes(at: number): boolean {
    const isOnlyCalls = this.#previews[at]?.isOnlyCalls ?? false;
    return filterLets(this.#filter, { entry: this.entryAt(at), label: this.labelOf(at), isOnlyCalls });
  }

  /** True if the row's text contains all words. */
  #hasInView(at: number): boolean {
    if (this.#words.length === 0) return true;
    const text = this.#previews[at]?.searched ?? this.entryAt(at).kind;
    const label = this.labelOf(at)?.toLowerCase();
    return this.#words.every((word) => text.includes(word) || label?.includes(word) === true);
  }
}

interface DeepSearchOptions {
  tree: SessionTree;
  /** In lower case; a hit contains all of them. */
  words: readonly string[];
  /** True for entries that still need reading. */
  isWanted: (at: number) => boolean;
  labelOf: (at: number) => string | undefined;
  /** An earlier, shorter search: its misses are misses here too. */
  earlier?: DeepSearch | undefined;
}

const missed = 1;
/** Characters before the word in an excerpt. */
const leadCharacters = 24;
const excerptCharacters = 160;

/** Searches whole entries, some at a time, the newest first. Keeps only the hits. */
class DeepSearch {
  readonly #options: DeepSearchOptions;
  readonly #missed: Uint8Array;
  readonly #excerpts = new Map<number, string>();
  #left: number;

  constructor(options: DeepSearchOptions) {
    const { tree, earlier } = options;
    this.#options = options;
    this.#left = tree.entries.length;
    this.#missed = earlier === undefined ? new Uint8Array(this.#left) : earlier.#missed.slice();
  }

  /** The searched share of the tree, 0 to 1. */
  get progress(): number {
    const { length } = this.#missed;
    return length === 0 ? 1 : 1 - this.#left / length;
  }

  /** The text around the word in a hit. */
  excerpt(at: number): string | undefined {
    return this.#excerpts.get(at);
  }

  advance(count: number): void {
    for (let read = 0; read < count && this.#left > 0; ) {
      this.#left -= 1;
      const at = this.#left;
      if (this.#missed[at] === missed || !this.#options.isWanted(at)) continue;
      this.#look(at);
      read += 1;
    }
  }

  #look(at: number): void {
    const { tree, words, labelOf } = this.#options;
    const entry = readEntry(tree, at);
    const text = entry === undefined ? "" : [...entryTexts(entry)].join("\n");
    const searched = `${text}\n${tree.entries[at]!.kind} ${labelOf(at) ?? ""}`.toLowerCase();
    if (words.every((word) => searched.includes(word))) this.#excerpts.set(at, excerptOf(text, words));
    else this.#missed[at] = missed;
  }
}

/** The text around the last word: the preview may show the others. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = Math.max(...words.map((word) => lower.indexOf(word)));
  // A change of case can change the length; a slightly shifted excerpt does no harm.
  const from = Math.max(0, found - leadCharacters);
  return `${from > 0 ? "…" : ""}${oneLine(textPart(text, from, from + excerptCharacters))}`;
}

/** The facts of a read entry. */
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

/** False for entries that are only notes about others. */
export function isWork({ type }: Pick<TreeEntry, "type">): boolean {
  return (
    type === "message" || type === "compaction" || type === "branch_summary" || type === "custom_message"
  );
}
