import type { TreeModel } from "./tree-model.ts";

/** So long is read in one go: a key that is pressed meanwhile waits no longer. */
const sliceMs = 6;
const entriesAtOnce = 4;
/** What is shown is brought up to date so often: in a large tree that takes longer than to read a slice. */
const siftMs = 100;

/** Reads a tree's entries ahead for the search, a slice at a time, between the keys. */
export class IdleReader {
  readonly #model: TreeModel;
  readonly #onChange: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #siftAtMs = 0;

  constructor(model: TreeModel, onChange: () => void) {
    this.#model = model;
    this.#onChange = onChange;
    this.wake();
  }

  /** To be called when there may be more to read. */
  wake(): void {
    if (this.#isStopped || this.#model.searchProgress === 1) return;
    this.#timer ??= setTimeout(() => this.#read(), 1).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #read(): void {
    this.#timer = undefined;
    const model = this.#model;
    const from = performance.now();
    do model.read(entriesAtOnce);
    while (model.searchProgress < 1 && performance.now() < from + sliceMs);
    if (model.searchProgress === 1 || from >= this.#siftAtMs) {
      this.#siftAtMs = from + siftMs;
      const hasChanged = model.sift();
      if (hasChanged || model.search !== "") this.#onChange();
    }
    this.wake();
  }
}
