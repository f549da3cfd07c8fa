import type { BenchTable } from "@bonsai-agent/testkit";
import { compactionSettings } from "../src/index.ts";
import { annotatedSessions, chainedSession, type FactScore, scoreSession, sumScores } from "./annotated.ts";

interface Mode {
  name: string;
  keepRecentTokens: number;
  contextWindow?: number;
  /** The bench fails if the summaries show less of the old facts. */
  floor: number;
}

const MODES: readonly Mode[] = [
  { name: "20k kept", keepRecentTokens: 20_000, floor: 0.995 },
  { name: "4k kept, window of 32k", keepRecentTokens: 4_000, contextWindow: 32_000, floor: 0.995 },
  { name: "2k kept, window of 16k", keepRecentTokens: 2_000, contextWindow: 16_000, floor: 0.97 },
  { name: "2k kept, window of 12k", keepRecentTokens: 2_000, contextWindow: 12_000, floor: 0.89 },
];

/** Consecutive sessions: 9 to 12 digests, each after the previous one. */
const CHAINS = [
  ["en-billing", "en-compiler", "en-mltrain"],
  ["en-terraform", "en-firmware", "en-research"],
  ["de-security", "fr-mobile", "es-datos", "ja-game"],
  ["de-legacy-php", "pt-cli", "zh-dbmigrate", "mixed-docs-ko"],
];
const CHAIN_MODES: readonly Mode[] = [
  {
    name: "chained, 20k kept, window of 200k",
    keepRecentTokens: 20_000,
    contextWindow: 200_000,
    floor: 0.945,
  },
  { name: "chained, 8k kept, window of 64k", keepRecentTokens: 8_000, contextWindow: 64_000, floor: 0.945 },
];

/** The share of annotated facts that the context shows after digests. @throws Error below a floor */
export default async function bench(): Promise<BenchTable> {
  const sessions = annotatedSessions();
  const chains = CHAINS.map((names) => chainedSession(annotatedSessions(names)));
  const rows: string[][] = [];
  for (const mode of [...MODES, ...CHAIN_MODES]) {
    const settings = compactionSettings({ keepRecentTokens: mode.keepRecentTokens });
    const scores: FactScore[] = [];
    for (const session of CHAIN_MODES.includes(mode) ? chains : sessions)
      scores.push(await scoreSession(session, settings, mode.contextWindow));
    const score = sumScores(scores);
    const share = score.oldShown / score.old;
    if (share < mode.floor)
      throw new Error(`${mode.name}: ${share.toFixed(4)} of the old facts are shown, below ${mode.floor}.`);
    rows.push(rowOf(mode, score, share));
  }
  return {
    title: "Annotated sessions: facts that the context shows after digests",
    columns: ["mode", "old facts", "all facts", "stale in summary", "unanswered", "summary tokens", "floor"],
    rows,
    notes: [
      "Old: stated before the kept part. Stale: outdated and shown as current. Unanswered: nowhere cleared.",
    ],
  };
}

function rowOf({ name, floor }: Mode, score: FactScore, share: number): string[] {
  return [
    name,
    `${share.toFixed(4)} (${score.oldShown}/${score.old})`,
    (score.allShown / score.all).toFixed(4),
    String(score.stale),
    String(score.unanswered),
    String(Math.round(score.summaryTokens / score.compactions)),
    String(floor),
  ];
}
