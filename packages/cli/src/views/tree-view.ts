import { previewOf } from "../preview.ts";
import { branchCount, type SessionTree } from "../session-tree.ts";
import { fitLine, type Line, lineWidth, type Span, span } from "./line.ts";
import { counted } from "./numbers.ts";
import { kindStyle } from "./role-colour.ts";
import { foldedRun, type RunItem } from "./tree-run.ts";

export interface TreeViewOptions {
  tree: SessionTree;
  leafId: string | null;
  width: number;
  /** One line for each entry, nothing folded. */
  all: boolean;
}

/** Where a run of the tree is drawn: guides before its first line, and before the others. */
interface Place {
  at: number;
  first: string;
  rest: string;
}

/** The tree from its roots down, the active branch first. Runs without branches stand in one column. */
export function* treeView(options: TreeViewOptions): Generator<Line> {
  const { tree, width } = options;
  const maxGuides = Math.max(4, Math.floor(width / 3));
  const stack = places(tree.roots, "", maxGuides, tree.roots.length > 1);
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const run = runFrom(tree, place.at);
    yield* runLines(run, place, options);
    for (const branch of places(tree.children(run.at(-1)!), place.rest, maxGuides, true)) stack.push(branch);
  }
  yield* summary(options);
}

/** The positions from one on, down to where the tree branches or ends. */
function runFrom(tree: SessionTree, start: number): number[] {
  const run = [start];
  for (;;) {
    const children = tree.children(run.at(-1)!);
    if (children.length !== 1) return run;
    run.push(children[0]!);
  }
}

/** The places of siblings, last first, as a stack takes them. Guides that grow too wide lose their left part. */
function places(siblings: readonly number[], guides: string, maxGuides: number, branching: boolean): Place[] {
  const drawn = siblings.map((at, index): Place => {
    if (!branching) return { at, first: guides, rest: guides };
    const last = index === siblings.length - 1;
    return {
      at,
      first: elided(`${guides}${last ? "╰─" : "├─"}`, maxGuides),
      rest: elided(`${guides}${last ? "  " : "│ "}`, maxGuides),
    };
  });
  return drawn.reverse();
}

function elided(guides: string, max: number): string {
  return guides.length <= max ? guides : `…${guides.slice(-(max - 1))}`;
}

function* runLines(run: readonly number[], place: Place, options: TreeViewOptions): Generator<Line> {
  const items = options.all
    ? run.map((at): RunItem => ({ at, folded: 0 }))
    : foldedRun(options.tree, run, options.leafId);
  let guides = place.first;
  for (const item of items) {
    yield itemLine(item, guides, options);
    guides = place.rest;
  }
}

function itemLine(item: RunItem, guides: string, options: TreeViewOptions): Line {
  const { tree, width } = options;
  if (item.at === undefined) {
    const turns = item.turns > 0 ? `${counted(item.turns, "turn")}, ` : "";
    return fitLine(
      [`${" ".repeat(idWidth)} ${guides}`, span(`⋮ ${turns}${entries(item.folded)}`, "gray")],
      width,
    );
  }
  const entry = tree.entries[item.at]!;
  const here = entry.id === options.leafId;
  const tail: Span[] = [];
  if (item.folded > 0) tail.push(span(`  +${item.folded}`, "gray"));
  if (here) tail.push(span("  ◀ here", ["bold", "yellow"]));
  const head: Line = [
    span(entry.id.slice(0, idWidth).padEnd(idWidth), "gray"),
    ` ${guides}`,
    bullet(tree.isActive(item.at), here),
    " ",
    ...labelSpans(tree.labelOf(item.at)),
    ...content(options, item.at),
  ];
  return [...fitLine(head, width - lineWidth(tail)), ...tail];
}

const idWidth = 8;

function bullet(active: boolean, here: boolean): Span {
  if (here) return span("◉", ["bold", "yellow"]);
  return active ? span("●", "green") : span("○", "gray");
}

function labelSpans(label: string | undefined): Span[] {
  return label === undefined ? [] : [span(`[${label}]`, ["bold", "yellow"]), span(" ")];
}

function content({ tree, width }: TreeViewOptions, at: number): Span[] {
  const { kind } = tree.entries[at]!;
  const entry = tree.entry(at);
  const muted = !tree.isActive(at) || kind === "result";
  const preview = span(previewOf(entry), muted ? "gray" : undefined);
  const tokens =
    entry.type === "compaction" && Number.isFinite(entry.tokensBefore)
      ? [span(`of ${counted(entry.tokensBefore, "token")} `, "magenta")]
      : [];
  const padded = width < 60 ? kind : kind.padEnd(9);
  const undone = tree.isUndone(at) ? [span("undone ", "yellow")] : [];
  return [span(padded, kindStyle(kind)), span(" "), ...undone, ...tokens, preview];
}

function* summary({ tree, all }: TreeViewOptions): Generator<Line> {
  if (tree.entries.length > 0) yield [];
  const branches = counted(Math.max(1, branchCount(tree)), "branch", "branches");
  yield [
    span(entries(tree.entries.length), "bold"),
    ", ",
    span(branches, "bold"),
    all ? "" : span("  (--all unfolds)", "gray"),
  ];
}

function entries(value: number): string {
  return counted(value, "entry", "entries");
}
