/** What somebody opened or closed, by entry and part: it stays so when it is scrolled away and comes back. */
const folds = new Map<string, boolean>();

export function foldOf(name: string): boolean | undefined {
  return folds.get(name);
}

export function setFold(name: string, isOpen: boolean): void {
  folds.set(name, isOpen);
}
