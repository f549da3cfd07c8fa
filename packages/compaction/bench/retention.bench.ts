import {
  type BenchTable,
  type PlantedLanguage,
  type PlantKind,
  plantedLanguages,
  plantedSession,
} from "@bonsai-agent/testkit";
import { compactionPresets, compactionSettings } from "../src/index.ts";
import { sketchOf, userMessages } from "./baselines.ts";
import { DIGEST, meanShare, measureRetention, type Retention, type Share } from "./retention.ts";

const AFTER = [1, 2, 4, 8];
const KEEP_TOKENS = 20_000;
/** Override: `BENCH_SEEDS=11,12 pnpm bench retention`. */
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
/** Every preset keeps the same number of recent tokens here. */
const PRESETS = Object.fromEntries(
  Object.entries(compactionPresets)
    .filter(([name]) => name !== "bonsai")
    .map(([name, preset]) => [
      `preset ${name}`,
      compactionSettings(
        { ...preset.settings, keepRecentTokens: KEEP_TOKENS },
        { ...preset.policy, manualKeep: "same" },
      ),
    ]),
);
const BASELINES = {
  "tail alone": () => "",
  "tail + all user messages": userMessages,
  "tail + sketch": sketchOf,
};

interface Measured extends Retention {
  context: string;
  language: string;
}

/** The bench fails if the digest shows less: on average over all compactions, or after the last one. */
const FLOOR = { mean: 0.99, last: 0.975 };

/**
 * Measures the share of planted constraints, decisions, facts, errors and so on that the model sees after compactions.
 */
export default async function bench(): Promise<BenchTable[]> {
  const measured: Measured[] = [];
  for (const language of plantedLanguages)
    for (const seed of SEEDS) measured.push(...(await measureSession(language, seed)));
  checkFloor(measured.filter(({ context }) => context === DIGEST));
  const contexts = [DIGEST, ...Object.keys(PRESETS), ...Object.keys(BASELINES)];
  return [
    overallTable(contexts, measured),
    ...plantedLanguages.map((language) =>
      languageTable(
        language,
        contexts,
        measured.filter((one) => one.language === language),
      ),
    ),
  ];
}

/** @throws Error below the floor */
function checkFloor(measured: readonly Measured[]): void {
  const shares = AFTER.map((after) =>
    meanShare(measured.filter(({ compactions }) => compactions === after).map(({ all }) => all)),
  ).map((share) => share ?? 0);
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const last = shares.at(-1)!;
  if (mean < FLOOR.mean || last < FLOOR.last)
    throw new Error(`The digest shows ${mean.toFixed(4)} of the plants, ${last.toFixed(4)} at the end.`);
}

async function measureSession(language: PlantedLanguage, seed: number): Promise<Measured[]> {
  const planted = plantedSession({ seed, language });
  const measured: Measured[] = [];
  const settings = compactionSettings({ keepRecentTokens: KEEP_TOKENS });
  const own = await measureRetention(planted, { settings, after: AFTER, others: BASELINES });
  for (const [context, retentions] of own)
    measured.push(...retentions.map((one) => ({ ...one, context, language })));
  for (const [context, settings] of Object.entries(PRESETS)) {
    const retentions = (await measureRetention(planted, { settings, after: AFTER })).get(DIGEST)!;
    measured.push(...retentions.map((one) => ({ ...one, context, language })));
  }
  return measured;
}

function overallTable(contexts: readonly string[], measured: readonly Measured[]): BenchTable {
  return {
    title: "Retention: weighted share of what still holds that the model sees",
    columns: ["context", "compactions", ...FIGURES],
    rows: contexts.flatMap((context) =>
      AFTER.map((after) => [
        context,
        String(after),
        ...figures(measured.filter((one) => one.context === context && one.compactions === after)),
      ]),
    ),
    notes: [
      `${plantedLanguages.length} languages, seeds ${SEEDS.join(", ")}, a tail of ${KEEP_TOKENS} tokens. BENCH_SEEDS=11,12 takes others.`,
      "No model is asked: a preset has its settings, and the digest as its summariser.",
      "Contradictions: what has ended and is shown without its end behind it; the mean of a session.",
    ],
  };
}

function languageTable(
  language: PlantedLanguage,
  contexts: readonly string[],
  measured: readonly Measured[],
): BenchTable {
  const last = Math.max(...AFTER);
  return {
    title: `Retention in ${language}, after ${last} compactions`,
    columns: ["context", ...FIGURES],
    rows: contexts.map((context) => [
      context,
      ...figures(measured.filter((one) => one.context === context && one.compactions === last)),
    ]),
  };
}

function figures(measured: readonly Retention[]): string[] {
  const mean = (pick: (one: Retention) => number): number =>
    measured.reduce((sum, one) => sum + pick(one), 0) / measured.length;
  return [
    percent(measured.map((one) => one.all)),
    percent(measured.map((one) => one.beyondTail)),
    ...KINDS.map(([kind]) => percent(measured.flatMap((one) => one.kinds[kind] ?? []))),
    mean((one) => one.contradictions.length).toFixed(2),
    String(Math.round(mean((one) => one.summaryTokens))),
  ];
}

function percent(shares: readonly Share[]): string {
  return meanShare(shares)?.toFixed(2) ?? "";
}
