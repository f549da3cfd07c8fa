import { signal } from "@preact/signals";
import { address, go } from "./address.ts";
import { isFinding } from "./transcript/find.ts";

export const showsKeys = signal(false);

/** The keys in the help. */
export const keys: ReadonlyArray<readonly [key: string, what: string]> = [
  ["/ or Ctrl+F", "find in this branch, including folded parts"],
  ["Enter, Shift+Enter", "next and previous hit; Escape closes the search"],
  ["t", "transcript"],
  ["b", "tree of branches"],
  ["c", "context over time"],
  ["k", "compactions"],
  ["d", "compare branches"],
  ["?", "show or hide this list"],
];

const views: Readonly<Record<string, () => void>> = {
  t: () => go({ view: "transcript" }),
  b: () => go({ view: "tree" }),
  c: () => go({ view: "context" }),
  k: () => go({ view: "compaction", id: "all" }),
  d: () => go({ view: "compare" }),
  "/": find,
  "?": () => {
    showsKeys.value = !showsKeys.peek();
  },
};

/** Takes the keys of the page, but for those that somebody types into a field. */
export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    const isCommand = event.ctrlKey || event.metaKey;
    if (isCommand && event.key === "f") return taken(event, find);
    if (isCommand || event.altKey || isTyping(event.target)) return;
    if (event.key === "Escape") showsKeys.value = false;
    const view = Object.hasOwn(views, event.key) ? views[event.key] : undefined;
    if (view !== undefined) taken(event, view);
  });
}

function find(): void {
  const { view } = address.peek();
  if (view !== "entry" && view !== "transcript") go({ view: "transcript" });
  isFinding.value = true;
}

function taken(event: KeyboardEvent, act: () => void): void {
  event.preventDefault();
  act();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}
