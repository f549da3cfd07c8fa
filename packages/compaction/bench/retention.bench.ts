import { type BenchTable, type PlantKind, plantedLanguages, plantedSession } from "@bonsai-agent/testkit";
import { compactionPresets } from "../src/index.ts";
import { baselines, type Contender, measureRetention, type Retention, type Share } from "./retention.ts";

const AFTER = [1, 2, 4, 8];
const KEEP_TOKENS = 20_000;
/** `BENCH_SEEDS=11,12 pnpm bench retention` measures on others. */
const SEEDS = (process.env.BENCH_SEEDS ?? "1,2").split(",").map(Number);
const KINDS: ReadonlyArray<[PlantKind, string]> = [
  ["constraint", "constraints"],
  ["preference", "preferences"],
  ["decision", "decisions"],
  ["fact", "facts"],
  ["openError", "open errors"],
  ["todo", "to-dos"],
  ["irreversible", "irreversible"],
];
const FIGURES = [
  "overall",
  "beyond tail",
  ...KINDS.map(([, name]) => name),
  "contradictions",
  "summary tokens",
];

const contenders: readonly Contender[] = [
  { name: "bonsai's digest", by: {} },
  // What comes by itself keeps the same tail under every preset.
  ...Object.entries(compactionPresets)
    .filter(([name]) => name !== "bonsai")
    .map(([name, preset]): Contender => ({ name: `preset ${name}`, by: { ...preset, manualKeep: "same" } })),
  ...baselines,
];

interface Measured extends Retention {
  contender: string;
  language: string;
}

/** What share of planted constraints, decisions, facts, errors and so on the model sees after compactions. */
export default async function bench(): Promise<BenchTable[]> {
  const measured = await measureAll();
  const last = Math.max(...AFTER);
  const overall: BenchTable = {
    title: "Retention: weighted share of what still holds that the model sees",
    columns: ["context", "compactions", ...FIGURES],
    rows: contenders.flatMap(({ name }) =>
      AFTER.map((after) => [
        name,
        String(after),
        ...figures(measured.filter((one) => one.contender === name && one.compactions === after)),
      ]),
    ),
    notes: [
      `${plantedLanguages.length} languages, seeds ${SEEDS.join(", ")}, a tail of ${KEEP_TOKENS} tokens. BENCH_SEEDS=11,12 takes others.`,
      "No model is asked: a preset has its settings, and the digest as its summariser.",
      "Contradictions: what has ended and is shown without its end behind it; the mean of a session.",
    ],
  };
  return [
    overall,
    ...contenders.map(({ name }) =>
      languageTable(
        name,
        measured.filter((one) => one.contender === name && one.compactions === last),
      ),
    ),
  ];
}

function languageTable(contender: string, measured: readonly Measured[]): BenchTable {
  return {
    title: `Retention of ${contender} after ${measured[0]?.compactions} compactions, by language`,
    columns: ["language", ...FIGURES],
    rows: plantedLanguages.map((language) => [
      language,
      ...figures(measured.filter((one) => one.language === language)),
    ]),
  };
}

async function measureAll(): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const language of plantedLanguages)
    for (const seed of SEEDS) {
      const session = plantedSession({ seed, language });
      for (const contender of contenders) {
        const results = await measureRetention({
          session,
          contender,
          after: AFTER,
          keepRecentTokens: KEEP_TOKENS,
        });
        measured.push(...results.map((one) => ({ ...one, contender: contender.name, language })));
      }
    }
  return measured;
}

function figures(measured: readonly Retention[]): string[] {
  const mean = (pick: (one: Retention) => number): number =>
    measured.reduce((sum, one) => sum + pick(one), 0) / measured.length;
  return [
    percent(measured.map((one) => one.all)),
    percent(measured.map((one) => one.beyondTail)),
    ...KINDS.map(([kind]) => percent(measured.flatMap((one) => one.kinds[kind] ?? []))),
    mean((one) => one.contradictions).toFixed(2),
    String(Math.round(mean((one) => one.summaryTokens))),
  ];
}

function percent(shares: readonly Share[]): string {
  const sum = (pick: (share: Share) => number): number =>
    shares.reduce((total, share) => total + pick(share), 0);
  const planted = sum((share) => share.planted);
  return planted === 0 ? "" : (sum((share) => share.seen) / planted).toFixed(2);
}
