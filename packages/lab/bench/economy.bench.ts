import { type CompactionSettingsInput, compactionSettings } from "@bonsai-agent/compaction";
import { CostSum, type Message, type ModelPrices } from "@bonsai-agent/messages";
import type { BenchTable } from "@bonsai-agent/testkit";
import { recordedMessages, workdayMessages } from "../../compaction/bench/day-messages.ts";
import type { Recording } from "../src/recording.ts";
import { type Replay, type ReplayOptions, replay } from "../src/replay.ts";

/** Prices of a middling model. */
const PRICES: ModelPrices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const usual = { prices: PRICES, windowTokens: 200_000 };
const FIXED_TOKENS = 5_000;
// The provider's count at the end of the recorded session, divided by the count by script.
const COUNT_RATIO = 1.23;
const SIZES = [32_000, 48_000, 64_000, 80_000, 120_000, 160_000];

const contenders: ReadonlyArray<[string, CompactionSettingsInput]> = [
  ["preset pi", { preset: "pi" }],
  ...SIZES.map((economy): [string, CompactionSettingsInput] => [
    `preset pi, economy ${economy / 1_000}k`,
    { preset: "pi", economy },
  ]),
  ["preset pi, economy auto", { preset: "pi", economy: "auto" }],
  ["bonsai", {}],
  ...SIZES.map((economy): [string, CompactionSettingsInput] => [
    `bonsai, economy ${economy / 1_000}k`,
    { economy },
  ]),
  ["bonsai, economy auto", { economy: "auto" }],
  ["bonsai, nothing ahead", { background: false }],
  ["bonsai, economy auto, nothing ahead", { economy: "auto", background: false }],
  ["bonsai, economy auto, no masks", { economy: "auto", mask: { enabled: false } }],
];

const planted: ReadonlyArray<[string, CompactionSettingsInput]> = contenders.filter(([name]) =>
  /^(preset pi|bonsai)($|, economy (48k|64k|auto)$)|auto, nothing ahead/.test(name),
);
const WORKDAY_ENTRIES = 1_600;
/** No setting was chosen on the last one. */
const WORKDAY_SEEDS = [1, 31];

const rested: ReadonlyArray<[string, CompactionSettingsInput, boolean]> = [
  ["preset pi", { preset: "pi" }, true],
  ["bonsai", {}, true],
  ["bonsai, economy auto, without the time", { economy: "auto" }, false],
  ["bonsai, economy auto", { economy: "auto" }, true],
];
const REST_MS = 10 * 60_000;

const COLUMNS = [
  "policy",
  "requests",
  "compactions",
  "masked",
  "highest",
  "total",
  "losses",
  "waited",
  "needed",
  "rereads",
  "recalls",
];

/** Measures the cost of a recorded day at each working size, and the loss of terms that its future needed. */
export default async function bench(): Promise<BenchTable[]> {
  const messages = recordedMessages();
  if (messages === undefined)
    return [{ title: "Economy", columns: ["no recorded session lies beside the repository"], rows: [] }];
  const played = async (name: string, input: CompactionSettingsInput, more: Partial<ReplayOptions> = {}) => {
    const settings = compactionSettings(input);
    const recording = recordingOf(messages, COUNT_RATIO);
    return rowOf(name, await replay({ ...usual, recording, settings, ...more }));
  };
  const rows: string[][] = [];
  for (const [name, settings] of contenders) rows.push(await played(name, settings));
  const restedRows: string[][] = [];
  for (const [name, settings, knowsTime] of rested)
    restedRows.push(await played(name, settings, { restMs: REST_MS, knowsTime }));
  const madeTables: BenchTable[] = [];
  for (const seed of WORKDAY_SEEDS) {
    const recording = recordingOf(workdayMessages(seed, WORKDAY_ENTRIES), 1);
    const madeRows: string[][] = [];
    for (const [name, settings] of planted) madeRows.push(await played(name, settings, { recording }));
    madeTables.push({
      title: `A working day that is made up, seed ${seed}`,
      columns: COLUMNS,
      rows: madeRows,
    });
  }
  return [
    {
      title: "Economy: a recorded day, request by request, at each working size",
      columns: COLUMNS,
      rows,
      notes: [
        `Prices of a middling model, a window of ${usual.windowTokens / 1_000}k, ${FIXED_TOKENS / 1_000}k of system prompt and tools; a prefix is kept for five minutes.`,
        "Needed: of the terms that the recorded future uses and the past had, the share in the context, at ten requests evenly spread. Losses: each repeated read and each recall is one more request.",
      ],
    },
    {
      title: "The same day, with a rest of ten minutes before each prompt",
      columns: COLUMNS,
      rows: restedRows,
    },
    ...madeTables,
  ];
}

function recordingOf(messages: readonly Message[], countRatio: number): Recording {
  const recorded = { requests: 0, sentTokens: 0, cost: new CostSum(), highestTokens: 0, compactions: 0 };
  return { messages, model: undefined, fixedTokens: FIXED_TOKENS, countRatio, recorded };
}

function rowOf(name: string, day: Replay): string[] {
  const compactions = Object.values(day.compactions).reduce((sum, count) => sum + count, 0);
  return [
    name,
    String(day.requests),
    String(compactions),
    String(day.masks),
    `${Math.round(Math.max(...day.context) / 1_000)}k`,
    `$${day.usd.toFixed(2)}`,
    `$${day.lossesUsd.toFixed(2)}`,
    `${Math.round(day.waitedMs / 1_000)} s`,
    mean(day.neededAlong),
    String(day.readAgain),
    String(day.recalls),
  ];
}

function mean(shares: readonly number[]): string {
  return shares.length === 0
    ? ""
    : (shares.reduce((sum, share) => sum + share, 0) / shares.length).toFixed(2);
}
