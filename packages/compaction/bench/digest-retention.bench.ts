import { type BenchTable, plantedLanguages } from "@bonsai-agent/testkit";
import { measureRetention, type Retention } from "./measure-retention.ts";

const AFTER = [1, 2, 4, 8];
const SEEDS = [1, 2, 3, 4, 5];

/** What share of planted constraints, decisions, facts, errors, to-dos and paths the model sees after compactions. */
export default async function bench(): Promise<BenchTable> {
  const rows: string[][] = [];
  for (const heldOut of [false, true])
    for (const language of plantedLanguages) {
      const measured = await Promise.all(
        SEEDS.map((seed) => measureRetention({ language, seed, heldOut, after: AFTER })),
      );
      for (const compactions of AFTER)
        rows.push(
          row(
            [language, heldOut ? "held out" : "tuned"],
            measured.flat().filter((one) => one.compactions === compactions),
          ),
        );
    }
  return {
    title: "Retention: weighted share of what lies before the kept tail that the model still sees",
    columns: [
      "language",
      "wordings",
      "compactions",
      "digest",
      "tail only",
      "tail + users",
      "summary tokens",
      "users' tokens",
      "superseded",
      "mended",
      "finished",
    ],
    rows,
    notes: [
      `${SEEDS.length} seeds a row. Summary tokens: the largest prose. "superseded", "mended", "finished": lines that show as current what no longer is.`,
      "The cues were never tuned on the held-out wordings.",
    ],
  };
}

function row(names: string[], measured: readonly Retention[]): string[] {
  const total = (pick: (one: Retention) => number): number =>
    measured.reduce((sum, one) => sum + pick(one), 0);
  const share = (pick: (one: Retention) => number): string =>
    `${((100 * total(pick)) / total((one) => one.plantedWeight)).toFixed(0)}%`;
  const fallen = (kind: string): string =>
    String(total((one) => one.fallen.filter((trap) => trap.kind === kind).length));
  return [
    ...names,
    String(measured[0]!.compactions),
    share((one) => one.seenWeight),
    share((one) => one.tailWeight),
    share((one) => one.tailAndUserWeight),
    String(Math.max(...measured.map((one) => one.proseTokens))),
    String(Math.round(total((one) => one.tailAndUserTokens) / measured.length)),
    fallen("superseded"),
    fallen("mended"),
    fallen("finished"),
  ];
}
