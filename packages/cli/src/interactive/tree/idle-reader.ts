import type { TreeModel } from "./tree-model.ts";

/** So long is read in one go: a key that is pressed meanwhile waits no longer. */
const sliceMs = 6;
const entriesAtOnce = 16;

/** Reads a tree's entries ahead for the search, a slice at a time, between the keys. */
export class IdleReader {
  readonly #model: TreeModel;
  readonly #onChange: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(model: TreeModel, onChange: () => void) {
    this.#model = model;
    this.#onChange = onChange;
    this.#wait();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    this.#timer = setTimeout(() => this.#read(), 1);
    this.#timer.unref();
  }

  #read(): void {
    const model = this.#model;
    const until = performance.now() + sliceMs;
    do model.read(entriesAtOnce);
    while (model.searchProgress < 1 && performance.now() < until);
    const hasChanged = model.sift();
    if (hasChanged || model.search !== "") this.#onChange();
    if (model.searchProgress < 1) this.#wait();
  }
}
