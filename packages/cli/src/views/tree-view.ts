import { sizeBeforeText } from "@bonsai-agent/compaction/host";
import { SecretFilter, textHead } from "@bonsai-agent/messages";
import { entryParts, type SessionTree } from "@bonsai-agent/session";
import { fitLine, kindStyle, type Line, lineWidth, type Span, span } from "./line.ts";
import { counted } from "./numbers.ts";
import { callInTree, kindOf, previewOf, previewSpan } from "./preview.ts";

interface TreeViewOptions {
  tree: SessionTree;
  leafId: string | null;
  width: number;
  /** One line for each entry, nothing folded. */
  all: boolean;
  /** Redacts labels and previews. Default: it redacts nothing. */
  secrets?: SecretFilter;
}

const noSecrets = new SecretFilter([], false);

/** The guides of a run of the tree: before its first line, and before the others. */
interface Place {
  at: number;
  first: string;
  rest: string;
}

/** The tree from its roots down, the active branch first. Runs without branches share one column. */
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

/** The places of siblings, last first, for a stack. Wide guides lose their left part. */
function places(siblings: readonly number[], guides: string, maxGuides: number, branching: boolean): Place[] {
  const drawn = siblings.map((at, index): Place => {
    if (!branching) return { at, first: guides, rest: guides };
    const last = index === siblings.length - 1;
    return {
      at,
      first: shortenGuides(`${guides}${last ? "╰─" : "├─"}`, maxGuides),
      rest: shortenGuides(`${guides}${last ? "  " : "│ "}`, maxGuides),
    };
  });
  return drawn.reverse();
}

function shortenGuides(guides: string, max: number): string {
  return guides.length <= max ? guides : `…${guides.slice(-(max - 1))}`;
}

function* runLines(
  run: readonly number[],
  { first, rest }: Place,
  options: TreeViewOptions,
): Generator<Line> {
  const { tree, leafId, all } = options;
  const items = all ? run.map((at): RunItem => ({ at, folded: 0 })) : foldRun(tree, run, leafId);
  for (const [at, item] of items.entries()) yield itemLine(item, at === 0 ? first : rest, options);
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
  const label = (options.secrets ?? noSecrets).value(tree.labelOf(item.at));
  const tail: Span[] = [];
  if (item.folded > 0) tail.push(span(`  +${item.folded}`, "gray"));
  if (here) tail.push(span("  ◀ here", ["bold", "yellow"]));
  const head: Line = [
    span(entry.id.slice(0, idWidth).padEnd(idWidth), "gray"),
    ` ${guides}`,
    bullet(tree.isActive(item.at), here),
    " ",
    ...(label === undefined ? [] : [span(`[${label}] `, ["bold", "yellow"])]),
    ...content(options, item.at),
  ];
  return [...fitLine(head, width - lineWidth(tail)), ...tail];
}

const idWidth = 8;

function bullet(active: boolean, here: boolean): Span {
  if (here) return span("◉", ["bold", "yellow"]);
  return active ? span("●", "green") : span("○", "gray");
}

function content({ tree, width, secrets = noSecrets }: TreeViewOptions, at: number): Span[] {
  const entry = secrets.value(tree.entry(at)!);
  const kind = kindOf(entry);
  const muted = !tree.isActive(at) || kind === "result";
  const preview = previewSpan(
    entryParts(entry, secrets.value(callInTree(tree, at, entry))),
    muted ? "gray" : undefined,
  );
  const size = entry.type === "compaction" ? sizeBeforeText(entry) : undefined;
  const tokens = size === undefined ? [] : [span(`of ${size} `, "magenta")];
  const padded = width < 60 ? kind : kind.padEnd(9);
  const state = tree.isUndone(at) ? "undone " : tree.isReplaced(at) ? "replaced " : "";
  const undone = state === "" ? [] : [span(state, "yellow")];
  return [span(padded, kindStyle(kind)), span(" "), ...undone, ...tokens, preview];
}

function* summary({ tree, all }: TreeViewOptions): Generator<Line> {
  if (tree.entries.length > 0) yield [];
  const branches = counted(Math.max(1, tree.branchCount), "branch", "branches");
  const unshown = counted(tree.unshownCount, "move");
  const unshownNote = `  (hidden: ${unshown} without entries)`;
  yield [
    span(entries(tree.entries.length), "bold"),
    ", ",
    span(branches, "bold"),
    tree.unshownCount === 0 ? "" : span(unshownNote, "gray"),
    all ? "" : span("  (--all shows more)", "gray"),
  ];
}

function entries(value: number): string {
  return counted(value, "entry", "entries");
}

/** A line of a folded run: an entry with its number of folded followers, or a number of folded turns. */
type RunItem = { at: number; folded: number } | { at: undefined; turns: number; folded: number };

/** Turns of a folded run that stay visible at its start and its end. */
const turnsAtStart = 4;
const turnsAtEnd = 5;

/** Folds a run without branches: shows user messages for their turns, and always its landmarks and ends. */
function foldRun(tree: SessionTree, run: readonly number[], leafId: string | null): RunItem[] {
  const end = run.findLast((at) => isWork(tree.entries[at]!)) ?? run[0];
  const landmarks = run.filter(
    (at) => at === run[0] || at === end || tree.entries[at]!.kind === "user" || isLandmark(tree, at, leafId),
  );
  const plainTurns = landmarks.filter((at) => at !== run[0] && at !== end && !isLandmark(tree, at, leafId));
  const hidden = new Set(
    plainTurns.length > turnsAtStart + turnsAtEnd + 1 ? plainTurns.slice(turnsAtStart, -turnsAtEnd) : [],
  );
  return lines(run, new Set(landmarks), hidden);
}

function lines(
  run: readonly number[],
  landmarks: ReadonlySet<number>,
  hidden: ReadonlySet<number>,
): RunItem[] {
  const items: RunItem[] = [];
  for (const at of run) {
    const last = items.at(-1);
    if (hidden.has(at)) {
      if (last?.at === undefined && last !== undefined) {
        last.turns += 1;
        last.folded += 1;
      } else items.push({ at: undefined, turns: 1, folded: 1 });
    } else if (landmarks.has(at)) items.push({ at, folded: 0 });
    else if (last !== undefined) last.folded += 1;
  }
  return items;
}

/** False for entries about other entries, and for messages that only the model reads: no useful position. */
export function isWork({
  type,
  isForModelOnly,
}: Pick<SessionTree["entries"][number], "type" | "isForModelOnly">): boolean {
  if (type === "custom_message") return !isForModelOnly;
  return type === "message" || type === "compaction" || type === "branch_summary";
}

/** True for compactions, branch summaries, labelled entries and the current position. */
function isLandmark(tree: SessionTree, at: number, leafId: string | null): boolean {
  const entry = tree.entries[at]!;
  const summary = entry.type === "compaction" || entry.type === "branch_summary";
  return summary || entry.id === leafId || tree.labelOf(at) !== undefined;
}

/** One row of `bonsai session tree --json`, in file order. */
export interface TreeRow {
  id: string;
  parentId: string | null;
  type: string;
  /** The role of a message. */
  role?: string;
  preview: string;
  label?: string;
  /** True on the path from a root to the current position. */
  active: boolean;
}

/**
 * All entries of all branches of a parsed tree, a row at a time.
 * @param secrets redacts labels and previews. Default: none
 */
export function* treeRows(tree: SessionTree, secrets = noSecrets): Generator<TreeRow> {
  for (const at of tree.entries.keys()) {
    const entry = tree.entry(at)!;
    const role = entry.type === "message" ? entry.message?.role : undefined;
    const label = tree.labelOf(at);
    const call = secrets.value(callInTree(tree, at, entry));
    yield {
      id: entry.id,
      parentId: entry.parentId,
      type: entry.type,
      ...(typeof role === "string" && { role }),
      preview: textHead(previewOf(secrets.value(entry), call), 200),
      ...(label !== undefined && { label: secrets.text(label) }),
      active: tree.isActive(at),
    };
  }
}
