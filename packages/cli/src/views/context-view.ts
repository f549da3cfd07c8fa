import type { ContextSize } from "../context-size.ts";
import { kindWord, messagePreview } from "../preview.ts";
import type { ContextItem } from "../reports/context-item.ts";
import { bar } from "./bar.ts";
import { type Line, type Style, span } from "./line.ts";
import { count, counted, percents, sizeSource } from "./numbers.ts";
import { kindStyle } from "./role-colour.ts";
import { table } from "./table.ts";
import { wrap } from "./text-width.ts";

export interface ContextViewOptions {
  items: readonly ContextItem[];
  size: Pick<ContextSize, "tokens" | "isEstimate" | "estimatedTokens">;
  leafId: string | null;
  width: number;
}

/** What the model sees: the items in order, then where the tokens of the next request go. */
export function* contextView({ items, size, leafId, width }: ContextViewOptions): Generator<Line> {
  if (items.length > 0) {
    yield* itemTable(items, width);
    yield [];
  }
  yield* wrap(`${counted(items.length, "item")} at ${leafId ?? "the beginning"}`, width).map((line) => [
    span(line, "bold"),
  ]);
  if (size.tokens > 0) yield* shares(items, size, width);
}

function itemTable(items: readonly ContextItem[], width: number): Iterable<Line> {
  const narrow = width < 60;
  const cellsOf = (item: ContextItem): Line[] => {
    const role = kindWord(item.role);
    const cells: Line[] = [
      [span(count(item.tokens))],
      [span(role, kindStyle(role))],
      [span(messagePreview(item.message), role === "result" ? "gray" : undefined)],
    ];
    return narrow ? cells : [[span(item.entryId, "gray")], ...cells];
  };
  const rows = {
    *[Symbol.iterator]() {
      for (const item of items) yield cellsOf(item);
    },
  };
  const columns = [{}, { align: "right" }, {}, { flexible: true }] as const;
  return table(rows, { columns: narrow ? columns.slice(1) : columns, width });
}

const glyphs = ["█", "▓", "▒", "░", "▚", "▞"];
/** A damaged file can have as many roles as messages. */
const maxRoles = 8;

interface Share {
  name: string;
  tokens: number;
  style?: Style | undefined;
}

/** One bar for each role, and all of them in one; they add up to the tokens that `bonsai show` tells. */
function* shares(
  items: readonly ContextItem[],
  size: ContextViewOptions["size"],
  width: number,
): Generator<Line> {
  const roles = byRole(items);
  const beside = size.tokens - roles.reduce((sum, { tokens }) => sum + tokens, 0);
  const all = beside > 0 ? [...roles, { name: besideName, tokens: beside, style: "gray" as const }] : roles;
  const parts = all.map((share, at) => ({
    ...share,
    value: share.tokens,
    glyph: share.name === besideName ? "·" : glyphs[Math.min(at, glyphs.length - 1)]!,
  }));
  const percentages = percents(parts.map(({ value }) => value));
  const rows = parts.map(({ name, tokens, glyph, style }, at): Line[] => [
    [span(glyph, style)],
    [name],
    [count(tokens)],
    [percentages[at]!],
    [name === besideName && width >= 60 ? span("and what estimates miss", "gray") : ""],
  ]);
  const columns = [{}, {}, { align: "right" }, { align: "right" }, {}] as const;
  yield bar(parts, { width: Math.min(width, 80) });
  yield* table(rows, { columns, width });
  yield totalLine(size);
}

const besideName = "prompt and tools";

function totalLine(size: ContextViewOptions["size"]): Line {
  const text = counted(size.tokens, "token");
  return size.isEstimate
    ? [span(`about ${text}`, "bold"), " in all"]
    : [span(text, "bold"), " in all", span(`  ${sizeSource(size)}`, "gray")];
}

/** Tokens by role, most first; beyond so many roles the rest is one. */
function byRole(items: readonly ContextItem[]): Share[] {
  const sums = new Map<string, number>();
  for (const item of items) {
    const role = kindWord(item.role);
    sums.set(role, (sums.get(role) ?? 0) + item.tokens);
  }
  const sorted = [...sums].sort((a, b) => b[1] - a[1]);
  const shown = sorted.slice(0, maxRoles).map(([name, tokens]) => ({ name, tokens, style: kindStyle(name) }));
  const others = sorted.slice(maxRoles).reduce((sum, [, tokens]) => sum + tokens, 0);
  return others > 0 ? [...shown, { name: "others", tokens: others, style: undefined }] : shown;
}
