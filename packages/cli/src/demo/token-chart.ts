import { type Line, span } from "../views/line.ts";
import { count } from "../views/numbers.ts";
import type { Moment, Performance } from "./stage.ts";

const ROWS = 8;
const eighths = " ▁▂▃▄▅▆▇█";
const marks: Readonly<Record<Moment, { glyph: string; means: string }>> = {
  masked: { glyph: "m", means: "masked" },
  summarised: { glyph: "s", means: "summarised" },
  digested: { glyph: "d", means: "digested" },
  overflow: { glyph: "!", means: "refused" },
  tree: { glyph: "t", means: "/tree" },
};

/** The tokens of each request of a turn, oldest left, below the window, with what happened in between. */
export function tokenChart({ served, moments, windowTokens }: Performance): Line[] {
  const turns = served.flatMap(({ purpose, ...each }, index) =>
    purpose === "turn" ? [{ ...each, index }] : [],
  );
  const top = Math.max(windowTokens, ...turns.map(({ inputTokens }) => inputTokens));
  const rows = Array.from({ length: ROWS }, (_, row) => ROWS - 1 - row).map((row): Line => {
    const label = isWindowRow(row, top, windowTokens) ? count(windowTokens) : row === 0 ? "0" : "";
    const cells = turns.map(({ inputTokens, refused }) =>
      span(`${cell(inputTokens, row, top)} `, refused ? "red" : "green"),
    );
    return [span(label.padStart(8), "gray"), span(" ┤", "gray"), ...cells];
  });
  return [
    ...rows,
    [
      " ".repeat(10),
      ...turns.map(({ index }, at) => `${markOf(moments, turns[at - 1]?.index ?? -1, index)} `),
    ],
    ...legend(moments),
  ];
}

function isWindowRow(row: number, top: number, windowTokens: number): boolean {
  return Math.min(ROWS - 1, Math.floor((windowTokens / top) * ROWS)) === row;
}

function cell(tokens: number, row: number, top: number): string {
  const filled = Math.round((tokens / top) * ROWS * 8) - row * 8;
  return eighths[Math.max(0, Math.min(8, filled))] ?? " ";
}

/** The strongest of what happened between two requests of turns. */
function markOf(moments: Performance["moments"], after: number, upTo: number): string {
  const between = moments.filter(({ at }) => at > after && at <= upTo).map(({ moment }) => moment);
  const order: Moment[] = ["digested", "summarised", "masked", "tree", "overflow"];
  const strongest = order.find((moment) => between.includes(moment));
  return strongest === undefined ? " " : marks[strongest].glyph;
}

function legend(moments: Performance["moments"]): Line[] {
  const seen = new Set(moments.map(({ moment }) => moment));
  const words = (Object.keys(marks) as Moment[])
    .filter((moment) => seen.has(moment))
    .map((moment) => `${marks[moment].glyph} ${marks[moment].means}`);
  return [[" ".repeat(10), span(words.join(" · "), "gray")]];
}
