import type { Invocation } from "@bonsai-agent/app/invocation";
import { type Line, paragraph, table } from "@bonsai-agent/app/line";
import { counted, shortTokens } from "@bonsai-agent/app/numbers";
import { withProgress } from "@bonsai-agent/app/output";
import { callSettings } from "@bonsai-agent/app/settings";
import {
  type Policy,
  policyNamed,
  type Recording,
  type Replay,
  replay,
  usualPolicies,
} from "@bonsai-agent/lab";
import { wrongUsage } from "../failure.ts";
import { daysOf } from "./lab-days.ts";

const CHART_COLUMNS = 32;

/** What one policy made of all recordings. */
interface PolicyRow {
  policy: string;
  requests: number;
  masks: number;
  compactions: Record<string, number>;
  highestTokens: number;
  tokens: Replay["tokens"];
  usd: number;
  summariesUsd: number;
  /** Means; null where there was no compaction, or nothing was needed. */
  neededAfter: number | null;
  neededAlong: number | null;
  wordsKept: number | null;
  readAgain: number;
  waitedSeconds: number;
  /** Tokens of the requests of the longest recording. */
  context: number[];
}

/** Plays recorded sessions again under several policies, and shows what each would have cost and lost. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { io, output, args } = invocation;
  if (args[0] === "tune") return (await import("./lab-tune.ts")).run(invocation);
  if (args[1] !== undefined)
    throw wrongUsage(
      `\`lab\` plays one session or folder; ${args[1]} is a second one.`,
      "Put them into a folder, and name that.",
    );
  const days = await daysOf(invocation, args[0]);
  const recordings = days.map(({ recording }) => recording);
  const policies = policiesOf(invocation);
  const rows: PolicyRow[] = [];
  await withProgress(io, `Playing ${counted(recordings.length, "session")} again`, async () => {
    for (const policy of policies) {
      const replays: Replay[] = [];
      for (const day of days) replays.push(await replay({ ...day, settings: policy.settings }));
      rows.push(rowOf(policy.name, replays));
    }
  });
  const sessions = recordings.length;
  output.result({ sessions, recorded: recordedOf(recordings), policies: rows }, () =>
    labView(rows, recordings, output.width),
  );
}

/** The user's own settings come first, then the presets, unless some are named. */
function policiesOf(invocation: Invocation): Policy[] {
  const named = invocation.options.policy as string[] | undefined;
  if (named !== undefined) return named.map(policyNamed);
  return [{ name: "yours", settings: callSettings(invocation), input: {} }, ...usualPolicies()];
}

function recordedOf(recordings: readonly Recording[]): Recording["recorded"] {
  const total = { requests: 0, sentTokens: 0, usd: 0, compactions: 0 };
  for (const { recorded: each } of recordings)
    for (const name of ["requests", "sentTokens", "usd", "compactions"] as const) total[name] += each[name];
  return total;
}

function rowOf(policy: string, replays: readonly Replay[]): PolicyRow {
  const sum = (value: (replay: Replay) => number) => replays.reduce((total, each) => total + value(each), 0);
  const compactions: Record<string, number> = {};
  for (const replayed of replays)
    for (const [reason, count] of Object.entries(replayed.compactions))
      compactions[reason] = (compactions[reason] ?? 0) + count;
  return {
    policy,
    requests: sum(({ requests }) => requests),
    masks: sum(({ masks }) => masks),
    compactions,
    highestTokens: replays.reduce((most, { context }) => context.reduce((a, b) => Math.max(a, b), most), 0),
    tokens: {
      input: sum(({ tokens }) => tokens.input),
      cacheRead: sum(({ tokens }) => tokens.cacheRead),
      cacheWrite: sum(({ tokens }) => tokens.cacheWrite),
      output: sum(({ tokens }) => tokens.output),
    },
    usd: sum(({ usd }) => usd),
    summariesUsd: sum(({ summariesUsd }) => summariesUsd),
    neededAfter: mean(replays.flatMap(({ neededAfter }) => neededAfter)),
    neededAlong: mean(replays.flatMap(({ neededAlong }) => neededAlong)),
    wordsKept: mean(replays.flatMap(({ wordsKept }) => wordsKept)),
    readAgain: sum(({ readAgain }) => readAgain),
    waitedSeconds: Math.round(sum(({ waitedMs }) => waitedMs) / 1_000),
    context: [...replays].sort((a, b) => b.context.length - a.context.length)[0]!.context,
  };
}

function mean(shares: readonly number[]): number | null {
  return shares.length === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function labView(rows: readonly PolicyRow[], recordings: readonly Recording[], width: number): Line[] {
  const { requests, compactions, usd } = recordedOf(recordings);
  const share = (value: number | null) => (value === null ? "" : value.toFixed(2));
  const most = rows.reduce((highest, row) => Math.max(highest, row.highestTokens), 1);
  const cells = rows.map((row) => [
    row.policy,
    `$${row.usd.toFixed(2)}`,
    String(Object.values(row.compactions).reduce((sum, count) => sum + count, 0)),
    String(row.masks),
    shortTokens(row.highestTokens),
    `${row.waitedSeconds} s`,
    share(row.neededAfter),
    share(row.neededAlong),
    share(row.wordsKept),
    String(row.readAgain),
    sparkline(row.context, most),
  ]);
  const columns = [
    "policy",
    "cost",
    "compactions",
    "masked",
    "highest",
    "waited",
    "needed",
    "along",
    "words",
    "again",
  ];
  return [
    ...paragraph(
      `${counted(recordings.length, "session")}, ${counted(requests, "request")}, as recorded ${counted(compactions, "compaction")} and $${usd.toFixed(2)}; played again:`,
      width,
    ),
    [""],
    ...table(
      [[...columns, "context over time"], ...cells].map((row) => row.map((cell): Line => [cell])),
      {
        columns: [{ flexible: true }, ...columns.slice(1).map(() => ({ align: "right" as const })), {}],
        width,
      },
    ),
    [""],
    ...paragraph(
      "needed: of the terms that the recorded future used and the past had, the share in view after a compaction, and along all requests; words: the share of what you said that stands in view after a compaction; again: files read again although their result had left the view. Summaries are the digest's, paid and waited for as a model's.",
      width,
      "gray",
    ),
  ];
}

const HEIGHTS = "▁▂▃▄▅▆▇█";

/** The highest of each stretch, as a share of the highest of all. */
function sparkline(values: readonly number[], most: number): string {
  const columns = Math.min(CHART_COLUMNS, values.length);
  return Array.from({ length: columns }, (_, column) => {
    const stretch = values.slice(
      Math.floor((column * values.length) / columns),
      Math.floor(((column + 1) * values.length) / columns),
    );
    const height = Math.max(...stretch) / most;
    return HEIGHTS[Math.min(HEIGHTS.length - 1, Math.floor(height * HEIGHTS.length))];
  }).join("");
}
