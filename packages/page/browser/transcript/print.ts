import { signal } from "@preact/signals";
import { flushSync } from "preact/compat";
import { body } from "../page-store.ts";
import { shownPath } from "../session-tree.ts";

/** True while all of the branch is drawn, with everything open, for paper. */
export const isPrinting = signal(false);

/** A printer takes no more: the end of the branch, in entries. */
export const MAX_PRINTED = 3_000;

/** Reads all of the branch, then prints what is shown. */
export async function printPage(): Promise<void> {
  const rows = shownPath.peek().slice(-MAX_PRINTED);
  // One after the other: a chunk that is read twice is read once.
  for (const row of rows) await body(row);
  window.print();
}

/** However printing was asked for, all is drawn before; by a menu of the browser, as far as it was read. */
export function drawForPrinting(): void {
  addEventListener("beforeprint", () => flushSync(() => print(true)));
  addEventListener("afterprint", () => print(false));
  // Headless printing only changes the media.
  const media = matchMedia("print");
  media.addEventListener("change", () => flushSync(() => print(media.matches)));
}

function print(isOn: boolean): void {
  isPrinting.value = isOn;
}
