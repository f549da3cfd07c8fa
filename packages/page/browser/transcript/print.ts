import { signal } from "@preact/signals";
import { body } from "../page-store.ts";
import { shownPath } from "../session-tree.ts";

/** True while all of the branch is drawn, for paper. */
export const isPrinting = signal(false);

/** A printer takes no more: the end of the branch, in entries. */
export const MOST_PRINTED = 3_000;

/** Draws all of the branch, then prints it, then draws what can be seen again. */
export async function printBranch(): Promise<void> {
  for (const row of shownPath.peek().slice(-MOST_PRINTED)) await body(row);
  isPrinting.value = true;
  // What is drawn asks for its text first: a frame to draw, one to be filled.
  for (let frame = 0; frame < 4; frame += 1) await new Promise((resolve) => setTimeout(resolve, 50));
  window.print();
  isPrinting.value = false;
}
