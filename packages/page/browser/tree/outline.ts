import { computed, signal } from "@preact/signals";
import { page } from "../page-store.ts";
import { childrenOf, hasFlag, kindOf, labelOf, shownPath } from "../session-tree.ts";

export const filters = ["turns", "all", "without tools", "labelled", "compactions"] as const;
export type Filter = (typeof filters)[number];

export const filter = signal<Filter>("turns");
export const wanted = signal("");

/** One line of the drawing: an entry, in the lane of its branch. */
export interface OutlineLine {
  row: number;
  /** From 0, that of the branch that the others leave. */
  lane: number;
  /** Lanes that pass this line, its own among them. */
  lanes: number[];
  /** The lane that it leaves here. */
  from?: number;
  isActive: boolean;
}

const MOST_LANES = 12;

/**
 * The tree from the root down, each branch in a lane of its own: children that have a sibling begin one, the branch that is
 * shown stays leftmost. Walks without recursion: a session is as deep as it is long.
 */
export const outline = computed<OutlineLine[]>(() => {
  const children = childrenOf.value;
  const onPath = new Set(shownPath.value);
  const text = wanted.value.toLowerCase();
  const lines: OutlineLine[] = [];
  const isFiltered = filter.value !== "all" || text !== "";
  const open: Array<{ row: number; lane: number; from?: number; lanes: number[] }> = [];
  const push = (parent: number, lane: number, lanes: number[]) => {
    const [first, ...others] = ordered(children.get(parent) ?? [], onPath);
    if (first === undefined) return;
    open.push({ row: first, lane, lanes });
    // Another branch is drawn to its end before the next begins, so that one lane more is enough for all of them.
    const own = Math.min(lane + 1, MOST_LANES);
    for (const row of others.toReversed())
      open.push({ row, lane: own, from: lane, lanes: [...new Set([...lanes, own])] });
  };
  push(-1, 0, [0]);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { row, lane, from, lanes } = next;
    const isFork = (children.get(row)?.length ?? 0) > 1;
    if (!isFiltered || isWanted(row, text, isFork || from !== undefined))
      lines.push({ row, lane, lanes, ...(from !== undefined && { from }), isActive: onPath.has(row) });
    push(row, lane, lanes);
  }
  return lines;
});

/** The branch that is shown stays in its lane; the others leave it. */
function ordered(children: readonly number[], onPath: ReadonlySet<number>): number[] {
  return [...children].sort((a, b) => Number(onPath.has(b)) - Number(onPath.has(a)));
}

function isWanted(row: number, text: string, isKnot: boolean): boolean {
  if (text !== "") {
    const { previews, ids } = page.value!.rows;
    return [previews[row]!, labelOf.value.get(row) ?? "", ids[row]!].some((each) =>
      each.toLowerCase().includes(text),
    );
  }
  const kind = kindOf(row);
  switch (filter.value) {
    case "all":
      return true;
    case "without tools":
      return kind !== "result" && kind !== "leaf" && kind !== "label" && kind !== "mask";
    case "labelled":
      return labelOf.value.has(row);
    case "compactions":
      return kind === "compaction" || kind === "branch summary";
    case "turns":
      return (
        hasFlag(row, "turn") ||
        isKnot ||
        labelOf.value.has(row) ||
        kind === "compaction" ||
        kind === "branch summary"
      );
  }
}
