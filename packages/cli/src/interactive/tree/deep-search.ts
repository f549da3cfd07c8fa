import { entryTexts } from "@bonsai-agent/session";
import type { SessionTree } from "../../session-tree.ts";
import { oneLine } from "../../views/printable.ts";
import { readEntry } from "./read-entry.ts";

export interface DeepSearchOptions {
  tree: SessionTree;
  /** In lower case; an entry is found where it has all of them. */
  words: readonly string[];
  /** True for entries that are worth reading: those that nothing else has found or left out. */
  isWanted: (at: number) => boolean;
  labelOf: (at: number) => string | undefined;
  /** A search for less, before this one: what it has missed, this one misses. */
  earlier?: DeepSearch | undefined;
}

const missed = 1;
/** So much stands before the word in an excerpt. */
const leadCharacters = 24;
const excerptCharacters = 160;

/** Looks for words in whole entries, some at a time, the newest first, and keeps nothing but what it found. */
export class DeepSearch {
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

  get isComplete(): boolean {
    return this.#left === 0;
  }

  /** How much of the tree is searched, from 0 to 1. */
  get progress(): number {
    const { length } = this.#missed;
    return length === 0 ? 1 : 1 - this.#left / length;
  }

  /** What stands around the first word in an entry that was found. */
  excerpt(at: number): string | undefined {
    return this.#excerpts.get(at);
  }

  /** Reads the next entries. */
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

/** Around the word that stands furthest down: the others may stand where the entry's preview shows them. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const found = Math.max(...words.map((word) => lower.indexOf(word)));
  // A change of case can change the length: the excerpt is then a little off, which does no harm.
  const from = Math.max(0, found - leadCharacters);
  return `${from > 0 ? "…" : ""}${oneLine(text.slice(from, from + excerptCharacters))}`;
}
