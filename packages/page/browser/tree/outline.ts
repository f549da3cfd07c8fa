import { computed, signal } from "@preact/signals";
import { page } from "../page-store.ts";
import { branchEnds, childrenOf, hasFlag, isQuiet, kindOf, labelOf, shownPath } from "../session-tree.ts";

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
  /** Nothing of its lane comes above, or below. */
  isFirst: boolean;
  isLast: boolean;
}

const MAX_LANES = 12;

/**
 * The tree from the root down, each branch in a lane of its own: children that have a sibling begin one, the branch that is
 * shown stays leftmost. Walks without recursion: a session is as deep as it is long.
 */
export const outline = computed<OutlineLine[]>(() => {
  const children = childrenOf.value;
  const onPath = new Set(shownPath.value);
  const ends = new Set(branchEnds.value);
  const text = wanted.value.toLowerCase();
  const lines: OutlineLine[] = [];
  const open: Array<{ row: number; lane: number; from?: number; lanes: number[] }> = [];
  const push = (parent: number, lane: number, lanes: number[], from?: number) => {
    const [first, ...others] = ordered(children.get(parent) ?? [], onPath);
    if (first === undefined) return;
    open.push({ row: first, lane, lanes, ...(from !== undefined && { from }) });
    // Another branch is drawn to its end before the next begins, so that one lane more is enough for all of them.
    const own = Math.min(lane + 1, MAX_LANES);
    for (const row of others.toReversed())
      open.push({ row, lane: own, from: lane, lanes: [...new Set([...lanes, own])] });
  };
  push(-1, 0, [0]);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { row, lane, from, lanes } = next;
    const isDrawn = isWanted(row, text, ends);
    if (isDrawn)
      lines.push({
        ...{ row, lane, lanes, isActive: onPath.has(row), isFirst: false, isLast: false },
        ...(from !== undefined && { from }),
      });
    // A branch leaves at its first drawn entry.
    push(row, lane, lanes, isDrawn ? undefined : from);
  }
  for (const [at, line] of lines.entries()) {
    line.isFirst = at === 0;
    const below = lines[at + 1];
    line.isLast = below === undefined || !passes(below, line.lane);
  }
  return lines;
});

/** Whether a lane comes down into a line from the one above. */
function passes({ lane, lanes, from }: OutlineLine, above: number): boolean {
  return lanes.includes(above) && !(from !== undefined && lane === above);
}

/** The branch that is shown stays in its lane; the others leave it. */
function ordered(children: readonly number[], onPath: ReadonlySet<number>): number[] {
  return [...children].sort((a, b) => Number(onPath.has(b)) - Number(onPath.has(a)));
}

function isWanted(row: number, text: string, ends: ReadonlySet<number>): boolean {
  if (text !== "" && !holds(row, text)) return false;
  const kind = kindOf(row);
  const isSummary = kind === "compaction" || kind === "branch summary";
  switch (filter.value) {
    case "all":
      return true;
    case "without tools":
      return kind !== "result" && !isQuiet(row);
    case "labelled":
      return labelOf.value.has(row);
    case "compactions":
      return isSummary;
    case "turns":
      // A search looks at every entry.
      return (
        text !== "" ||
        (hasFlag(row, "turn") && !isQuiet(row)) ||
        ends.has(row) ||
        labelOf.value.has(row) ||
        isSummary
      );
  }
}

function holds(row: number, text: string): boolean {
  const { previews, ids } = page.value!.rows;
  return [previews[row]!, labelOf.value.get(row) ?? "", ids[row]!].some((each) =>
    each.toLowerCase().includes(text),
  );
}
