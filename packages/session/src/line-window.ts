import type { SessionStore } from "./session-store.ts";

const WINDOW_BYTES = 1 << 18;

/** Reads line after line with few reads, where most lie one after the other. */
export class LineWindow {
  readonly #store: SessionStore;
  #memory = Buffer.alloc(0);
  #bytes = this.#memory;
  #offset = 0;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** The bytes of a range, valid until the next call. */
  bytes(range: { offset: number; lengthBytes: number }): Buffer {
    if (!this.#holds(range)) this.#load(range);
    const start = range.offset - this.#offset;
    return this.#bytes.subarray(start, start + range.lengthBytes);
  }

  #holds(range: { offset: number; lengthBytes: number }): boolean {
    const start = range.offset - this.#offset;
    return start >= 0 && start + range.lengthBytes <= this.#bytes.length;
  }

  #load(range: { offset: number; lengthBytes: number }): void {
    const size = Math.max(WINDOW_BYTES, range.lengthBytes);
    if (this.#memory.length < size) this.#memory = Buffer.allocUnsafe(size);
    this.#bytes = this.#memory.subarray(0, this.#store.read(this.#memory, range.offset));
    this.#offset = range.offset;
  }
}
