import { drawLine, fitLine, type Line, lineWidth, type Span } from "../../views/line.ts";
import { count, largestUnit } from "../../views/numbers.ts";
import { kindWord } from "../../views/preview.ts";
import type { Style, StyleName, Theme } from "../terminal/theme.ts";
import { none } from "./tree-layout.ts";
import type { TreeModel } from "./tree-model.ts";

interface TreeRowOptions {
  model: TreeModel;
  theme: Theme;
  width: number;
  nowMs: number;
}

/** Minimum width for ages. */
const columnsWithAges = 56;

export function treeRow(at: number, options: TreeRowOptions): string {
  const { model, theme, width } = options;
  const isSelected = model.selected === at;
  const tail = rowTail(at, options);
  const columns = width - lineWidth(tail);
  const head: Span<Style>[] = [
    { text: isSelected ? "› " : "  ", style: theme.style.accent },
    { text: guides(model, at, Math.max(4, Math.floor(width / 4))), style: theme.style.border },
    ...mark(model, at, theme),
    ...content(model, at, options),
  ];
  const draw = (spans: Line<Style>, max: number) =>
    drawLine(fitLine(spans, max), (style, text) => (isSelected ? text : style(text)));
  const gap = " ".repeat(Math.max(0, columns - lineWidth(head)));
  const whole = `${draw(head, columns)}${gap}${draw(tail, width)}`.trimEnd();
  return isSelected ? theme.style.selectedBg(theme.style.bold(whole)) : whole;
}

function rowTail(at: number, { model, theme, width, nowMs }: TreeRowOptions): Span<Style>[] {
  const { style } = theme;
  const tail: Span<Style>[] = [];
  if (model.isFolded(at)) tail.push({ text: ` +${count(model.layout.below(at))}`, style: style.muted });
  if (model.here === at) tail.push({ text: " ◀ here", style: style.warning });
  if (width >= columnsWithAges)
    tail.push({ text: ` ${ageOf(model.preview(at).timeMs, nowMs)}`, style: style.dim });
  return tail;
}

function ageOf(timeMs: number, nowMs: number): string {
  if (Number.isNaN(timeMs)) return "?".padStart(ageWidth);
  return (largestUnit(nowMs - timeMs) || "now").padStart(ageWidth);
}

/** `10 minutes`. */
const ageWidth = 10;

/** The guides of a row. Wide guides lose their left part. */
function guides({ layout }: TreeModel, at: number, max: number): string {
  let drawn = "";
  for (let row = at; row !== none; ) {
    const start = layout.segmentStart(row);
    if (layout.isBranch(start)) {
      const isLast = layout.isLastSibling(start);
      const here = row === at && start === at;
      drawn = (here ? (isLast ? "╰─" : "├─") : isLast ? "  " : "│ ") + drawn;
    }
    if (drawn.length > max) break;
    row = layout.parent(start);
  }
  return drawn.length <= max ? drawn : `…${drawn.slice(-(max - 1))}`;
}

/** The fold mark and the bullet of the active path. */
function mark(model: TreeModel, at: number, { style }: Theme): Span<Style>[] {
  const isHere = model.here === at;
  const look = isHere ? style.warning : model.tree.isActive(at) ? style.success : style.dim;
  const fold = model.canFold(at) ? (model.isFolded(at) ? "▸" : "▾") : " ";
  const bullet = isHere ? "◉" : model.tree.isActive(at) ? "●" : "○";
  return [
    { text: fold, style: style.muted },
    { text: `${bullet} `, style: look },
  ];
}

function stateOf(at: number, model: TreeModel): string | undefined {
  if (model.tree.isUndone(at)) return "undone";
  if (model.tree.isReplaced(at)) return "replaced";
  return model.hiddenIds.has(model.entryAt(at).id) ? "hidden" : undefined;
}

const kindLooks: ReadonlyMap<string, StyleName> = new Map<string, StyleName>([
  ["user", "accent"],
  ["assistant", "success"],
  ["command", "warning"],
  ["pin", "warning"],
  ["compaction", "toolTitle"],
  ["branch", "toolTitle"],
  ["damaged", "error"],
]);

function content(model: TreeModel, at: number, { theme, width }: TreeRowOptions): Span<Style>[] {
  const kind = kindWord(model.entryAt(at).kind);
  const { size } = model.preview(at);
  const words = model.wordsOf(at);
  const label = model.labelOf(at);
  const state = stateOf(at, model);
  const look: Style = theme.style[kindLooks.get(kind) ?? "muted"];
  const isMuted = !model.tree.isActive(at) || kind === "result" || words === "";
  return [
    { text: width < columnsWithAges ? `${kind} ` : `${kind.padEnd(10)} `, style: look },
    ...(label === undefined ? [] : [{ text: `[${label}] `, style: theme.style.warning }]),
    ...(state === undefined ? [] : [{ text: `${state} `, style: theme.style.warning }]),
    ...(size === undefined ? [] : [{ text: `of ${size} `, style: theme.style.toolTitle }]),
    {
      text: words === "" ? "(empty)" : words,
      style: isMuted ? theme.style.muted : undefined,
      fit: (columns) => model.fittedWordsOf(at, columns),
    },
  ];
}
