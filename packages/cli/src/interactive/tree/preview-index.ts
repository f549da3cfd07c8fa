import { messageText } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import { previewOf } from "../../preview.ts";
import type { SessionTree } from "../../session-tree.ts";
import { readEntry } from "./read-entry.ts";

/** What is known of an entry once it was read. */
export interface Preview {
  text: string;
  /** In lower case, for the search. */
  searched: string;
  isOnlyCalls: boolean;
  /** Of a compaction: what was there before it. */
  tokens?: number | undefined;
  /** NaN where the entry has no time that can be read. */
  timeMs: number;
}

const damaged: Preview = { text: "(damaged)", searched: "damaged", isOnlyCalls: false, timeMs: Number.NaN };

/** Owner of the previews of a tree: each is read when it is asked for, or when `advance` comes to it. */
export class PreviewIndex {
  readonly #tree: SessionTree;
  readonly #previews: (Preview | undefined)[];
  #next = 0;

  constructor(tree: SessionTree) {
    this.#tree = tree;
    this.#previews = new Array(tree.entries.length).fill(undefined);
  }

  get isComplete(): boolean {
    return this.#next >= this.#previews.length;
  }

  /** How much of the tree is read, from 0 to 1. */
  get progress(): number {
    return this.#previews.length === 0 ? 1 : this.#next / this.#previews.length;
  }

  /** Reads the next entries. The newest come first: they are looked for most. */
  advance(count: number): void {
    const { length } = this.#previews;
    for (let read = 0; read < count && !this.isComplete; read += 1) {
      this.#next += 1;
      this.preview(length - this.#next);
    }
  }

  /** What is known already. */
  known(at: number): Preview | undefined {
    return this.#previews[at];
  }

  preview(at: number): Preview {
    const known = this.#previews[at];
    if (known !== undefined) return known;
    const entry = readEntry(this.#tree, at);
    const preview = entry === undefined ? damaged : read(entry, this.#tree.entries[at]!.kind);
    this.#previews[at] = preview;
    return preview;
  }
}

function read(entry: Entry, kind: string): Preview {
  const text = previewOf(entry);
  const tokens = entry.type === "compaction" ? entry.tokensBefore : undefined;
  return {
    text,
    searched: `${kind} ${text}`.toLowerCase(),
    tokens,
    isOnlyCalls: isOnlyCalls(entry),
    timeMs: Date.parse(entry.timestamp),
  };
}

function isOnlyCalls(entry: Entry): boolean {
  if (entry.type !== "message" || entry.message?.role !== "assistant") return false;
  const { stopReason } = entry.message;
  return stopReason === "toolUse" && messageText(entry.message).trim() === "";
}
