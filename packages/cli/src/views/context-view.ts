import type { ContextItem } from "../commands/context.ts";
import type { ContextSize } from "../context-size.ts";
import { kindWord, messagePreview } from "../preview.ts";
import { bar } from "./bar.ts";
import { type Line, span } from "./line.ts";
import { count, counted, percent } from "./numbers.ts";
import { kindStyle } from "./role-colour.ts";
import { table } from "./table.ts";

export interface ContextViewOptions {
  items: readonly ContextItem[];
  size: Pick<ContextSize, "tokens" | "isEstimate">;
  leafId: string | null;
  width: number;
}

/** What the model sees: the items in order, then where its tokens go. */
export function* contextView({ items, size, leafId, width }: ContextViewOptions): Generator<Line> {
  const tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  if (items.length > 0) {
    yield* itemTable(items, width);
    yield [];
  }
  yield [
    span(counted(items.length, "item"), "bold"),
    ", ",
    span(`about ${counted(tokens, "token")}`, "bold"),
    leafId === null ? "" : span(` at ${leafId}`, "gray"),
  ];
  if (!size.isEstimate) yield [`${counted(size.tokens, "token")} with prompt and tools, as reported`];
  if (tokens > 0) yield* shares(items, tokens, width);
}

function itemTable(items: readonly ContextItem[], width: number): Line[] {
  const narrow = width < 60;
  const rows = items.map((item): Line[] => {
    const role = kindWord(item.role);
    const cells: Line[] = [
      [span(count(item.tokens))],
      [span(role, kindStyle(role))],
      [span(messagePreview(item.message), role === "result" ? "gray" : undefined)],
    ];
    return narrow ? cells : [[span(item.entryId, "gray")], ...cells];
  });
  const columns = [{}, { align: "right" }, {}, { flexible: true }] as const;
  return table(rows, { columns: narrow ? columns.slice(1) : columns, width });
}

const glyphs = ["█", "▓", "▒", "░", "▚", "▞"];

/** One bar for each role, and all of them in one. */
function shares(items: readonly ContextItem[], tokens: number, width: number): Line[] {
  const byRole = new Map<string, number>();
  for (const item of items) {
    const role = kindWord(item.role);
    byRole.set(role, (byRole.get(role) ?? 0) + item.tokens);
  }
  const roles = [...byRole].sort((a, b) => b[1] - a[1]);
  const parts = roles.map(([role, value], at) => ({
    value,
    glyph: glyphs[Math.min(at, glyphs.length - 1)]!,
    style: kindStyle(role),
  }));
  const legend = roles.map(([role, value], at): Line[] => [
    [span(parts[at]!.glyph, parts[at]!.style)],
    [role],
    [count(value)],
    [percent(value, tokens)],
  ]);
  return [
    bar(parts, { width: Math.min(width, 80) }),
    ...table(legend, { columns: [{}, {}, { align: "right" }, { align: "right" }], width, gap: 2 }),
  ];
}
