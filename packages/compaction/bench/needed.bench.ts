import { estimateTokens, type Message } from "@bonsai-agent/messages";
import type { BenchTable } from "@bonsai-agent/testkit";
import { neededTerms, specificTerms, visibleTexts } from "../../lab/src/needed-terms.ts";
import type { CompactionPolicy } from "../src/host.ts";
import { type CompactionSettingsInput, compactionPresets, compactionSettings } from "../src/index.ts";
import { sketchOf, userSentences } from "./baselines.ts";
import { recordedMessages } from "./day-messages.ts";
import { type Context, type MakeSummary, PlayedSession } from "./played-session.ts";

const DIGEST = "bonsai's digest";
const CUTS = 10;
/** Places of the first and the last cut, as shares of the session. */
const [FIRST_CUT, LAST_CUT] = [0.25, 0.75];
const KEEP_TOKENS = 8_000;
const LONG_KEEP_TOKENS = 20_000;

/** The bench fails if the digest shows a smaller share of the needed terms. */
const DIGEST_FLOOR = 0.89;

interface Contender {
  name: string;
  settings: CompactionSettingsInput;
  policy?: Partial<CompactionPolicy>;
  /** Replaces the digest. */
  make?: MakeSummary;
}

const contenders: readonly Contender[] = [
  { name: "kept part alone", settings: {}, make: () => "" },
  { name: "kept part + user's sentences", settings: {}, make: userSentences },
  { name: "kept part + sketch", settings: {}, make: sketchOf },
  { name: DIGEST, settings: {} },
  ...Object.entries(compactionPresets)
    .filter(([name]) => name !== "bonsai")
    .map(([name, preset]) => ({
      name: `preset ${name}`,
      settings: preset.settings,
      policy: { ...preset.policy, manualKeep: "same" as const },
    })),
];

interface Needed {
  /** Share of the terms that the future needs. */
  seen: number;
  /** The same share without the terms of the kept part. A longer term of the kept part can still contain them. */
  beyondTail: number;
  tokens: number;
  summaryTokens: number;
}

/** Measures the terms that a recorded future uses and its past contains: the share that the context still shows. */
export default async function bench(): Promise<BenchTable> {
  const messages = recordedMessages();
  const rows: string[][] = [];
  for (const contender of messages === undefined ? [] : contenders)
    rows.push(await row(messages!, contender));
  return {
    title: "Needed again: share of the terms of a recorded future that the context shows",
    columns: ["context", "needed", "beyond tail", "tokens", "summary tokens", "summary tokens, 20k tail"],
    rows:
      messages === undefined
        ? [["no recorded session lies beside the repository", "", "", "", "", ""]]
        : rows,
    notes: [
      `Means over ${CUTS} cuts between ${100 * FIRST_CUT}% and ${100 * LAST_CUT}% of the session; kept: ${KEEP_TOKENS} tokens.`,
      "No model is asked: a preset has its settings, and the digest as its summariser.",
    ],
  };
}

async function row(messages: readonly Message[], contender: Contender): Promise<string[]> {
  const measured: Needed[] = [];
  const long: number[] = [];
  for (const at of cuts(messages)) {
    measured.push(await neededAt(messages, at, contender));
    long.push(estimateTokens((await contextAt(messages.slice(0, at), contender, LONG_KEEP_TOKENS)).summary));
  }
  const of = (pick: (one: Needed) => number): number => mean(measured.map(pick));
  if (contender.name === DIGEST && of((one) => one.seen) < DIGEST_FLOOR)
    throw new Error(`The digest shows ${of((one) => one.seen).toFixed(4)} of the needed terms.`);
  return [
    contender.name,
    of((one) => one.seen).toFixed(2),
    of((one) => one.beyondTail).toFixed(2),
    of((one) => one.tokens).toFixed(0),
    of((one) => one.summaryTokens).toFixed(0),
    `${mean(long).toFixed(0)}, at most ${Math.max(...long)}`,
  ];
}

async function neededAt(messages: readonly Message[], at: number, contender: Contender): Promise<Needed> {
  const past = messages.slice(0, at);
  const needed = neededTerms(visibleTexts(past), messages.slice(at));
  const { summary, tail } = await contextAt(past, contender, KEEP_TOKENS);
  const context = `${summary}\n${tail}`;
  const kept = specificTerms(tail);
  const beyond = needed.filter((term) => !kept.has(term));
  const share = (terms: readonly string[]): number =>
    terms.filter((term) => context.includes(term)).length / terms.length;
  return {
    seen: share(needed),
    beyondTail: share(beyond),
    tokens: estimateTokens(context),
    summaryTokens: estimateTokens(summary),
  };
}

async function contextAt(
  past: readonly Message[],
  { settings, policy, make }: Contender,
  keepRecentTokens: number,
): Promise<Context> {
  const session = new PlayedSession();
  session.add(past);
  await session.compact(compactionSettings({ ...settings, keepRecentTokens }, policy));
  return make === undefined ? session.context() : session.contextWith(make);
}

/** Evenly spread cuts, each before a message that is no tool result. */
function cuts(messages: readonly Message[]): number[] {
  return Array.from({ length: CUTS }, (_, cut) => {
    const place = FIRST_CUT + ((LAST_CUT - FIRST_CUT) * cut) / (CUTS - 1);
    const from = Math.floor(messages.length * place);
    return from + messages.slice(from).findIndex((message) => message.role !== "toolResult");
  });
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}
