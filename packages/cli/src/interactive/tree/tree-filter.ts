import type { OutlineEntry } from "../../session-outline.ts";

/** Which entries of the tree are shown. */
export type TreeFilter = "default" | "no tools" | "user only" | "labelled" | "all";

/** In the order in which a key goes through them. */
const treeFilters: readonly TreeFilter[] = ["default", "no tools", "user only", "labelled", "all"];

/** The filter that stands so many steps on, around the end. */
export function filterAfter(filter: TreeFilter, steps: number): TreeFilter {
  const { length } = treeFilters;
  return treeFilters[(treeFilters.indexOf(filter) + steps + length) % length]!;
}

/** What a filter has to know of an entry. */
export interface FilteredEntry {
  entry: OutlineEntry;
  label: string | undefined;
  /** True for an answer that is known to hold calls of tools and no text. */
  isOnlyCalls: boolean;
}

export function filterLets(filter: TreeFilter, { entry, label, isOnlyCalls }: FilteredEntry): boolean {
  switch (filter) {
    case "all":
      return true;
    case "labelled":
      return label !== undefined;
    case "user only":
      return entry.kind === "user" && entry.type === "message";
    case "no tools":
      return isWork(entry) && entry.kind !== "result" && !isOnlyCalls;
    case "default":
      return isWork(entry) || label !== undefined;
  }
}

/** False for entries that only say something about others: no place where somebody would want to stand. */
export function isWork({ type }: Pick<OutlineEntry, "type">): boolean {
  return (
    type === "message" || type === "compaction" || type === "branch_summary" || type === "custom_message"
  );
}
