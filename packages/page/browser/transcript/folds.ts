import { effect } from "@preact/signals";
import { generation } from "../page-store.ts";

/** What somebody opened or closed, by entry and part: it stays so when it is scrolled away and comes back. */
const folds = new Map<string, boolean>();

effect(() => {
  generation.value;
  folds.clear();
});

export function foldOf(name: string): boolean | undefined {
  return folds.get(name);
}

export function setFold(name: string, isOpen: boolean): void {
  folds.set(name, isOpen);
}
