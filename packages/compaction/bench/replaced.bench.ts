import { readFileSync } from "node:fs";
import type { BenchTable } from "@bonsai-agent/testkit";
import { markReplaced, type Statement } from "../src/record/replaced.ts";

/** Two statements of which the second makes the first outdated, and a third on the same subject that does not. */
interface Pair {
  language: string;
  /** The change: a value is replaced, a request is withdrawn, a fault is fixed, a task is done. */
  kind: "replaced" | "withdrawn" | "fixed" | "done";
  /** The author of the first statement. */
  by: "user" | "agent";
  before: string;
  after: string;
  related: string;
}

const PAIRS: readonly Pair[] = JSON.parse(
  readFileSync(new URL("replaced-pairs.json", import.meta.url), "utf8"),
);
/** Number of statements between the two of a pair. */
const DISTANCES = [4, 60];
/** The bench fails if a later statement on the same subject gets more marks, or fewer values are marked. */
const LIMITS = { false: 2, shown: 4 };

interface PlacedStatement extends Statement {
  pair: Pair;
}

/** The share of replaced values that get a mark. Each second pair was not used to develop the rules. */
export default async function bench(): Promise<BenchTable> {
  const rows = ["developed on", "held out"].flatMap((half, at) =>
    DISTANCES.map((distance) => {
      const own = PAIRS.filter((_, index) => index % 2 === at);
      const values = own.filter(({ kind }) => kind === "replaced");
      const marked = markedPairs(own, "after", distance);
      const right = values.filter((pair) => marked.includes(pair)).length;
      const wrong = markedPairs(own, "related", distance).length;
      if (wrong > LIMITS.false || right < LIMITS.shown)
        throw new Error(`${half}, ${distance} between: ${right} values marked, ${wrong} false marks.`);
      const others = marked.length - right;
      return [
        half,
        String(distance),
        `${right} of ${values.length}`,
        String(others),
        `${wrong} of ${own.length}`,
      ];
    }),
  );
  return {
    title: "Marks on replaced values, in pairs of statements in five languages",
    columns: ["half", "statements between", "values marked", "other changes marked", "false marks"],
    rows,
  };
}

/** The pairs whose first statement gets a mark. */
function markedPairs(pairs: readonly Pair[], later: "after" | "related", distance: number): Pair[] {
  const placed = pairs.flatMap((pair, at) => [
    { place: 2 * at, pair, text: pair.before, isUser: pair.by === "user", isFirst: true },
    { place: 2 * at + distance + 1, pair, text: pair[later], isUser: isOfUser(pair), isFirst: false },
  ]);
  placed.sort((a, b) => a.place - b.place);
  const statements: PlacedStatement[] = placed.map((one, at) => ({ ...one, turn: at + 1 }));
  const texts = markReplaced(statements);
  return placed.flatMap(({ pair, text, isFirst }, at) => (isFirst && texts[at] !== text ? [pair] : []));
}

function isOfUser({ kind, by }: Pair): boolean {
  return kind === "withdrawn" || (kind === "replaced" && by === "user");
}
