import { readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Invocation } from "@bonsai-agent/app/invocation";
import { type Line, paragraph, table } from "@bonsai-agent/app/line";
import { counted, shortTokens } from "@bonsai-agent/app/numbers";
import { withProgress } from "@bonsai-agent/app/output";
import { knownCatalogue } from "@bonsai-agent/app/page-source";
import { latestSession } from "@bonsai-agent/app/session-choice";
import { openSessionFile, sessionFile, sessionPlace } from "@bonsai-agent/app/session-file";
import { callSettings } from "@bonsai-agent/app/settings";
import {
  type Policy,
  policyNamed,
  type Recording,
  type Replay,
  recordingOf,
  replay,
  usualPolicies,
} from "@bonsai-agent/lab";
import { BonsaiError, type ModelPrices, usualCacheRules } from "@bonsai-agent/messages";
import { listSessions } from "@bonsai-agent/session";
import { inMemory, transcriptSession } from "../transcript-session.ts";

/** A middling model's, in US dollars per million tokens: for recordings whose model has no known price. */
const MIDDLING: ModelPrices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const USUAL_WINDOW = 200_000;
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
  const { io, output, options } = invocation;
  const recordings = recordingsOf(invocation).filter(({ recorded }) => recorded.requests > 0);
  if (recordings.length === 0)
    throw new BonsaiError({
      code: "nothing_to_replay",
      message: "No answer of a model was recorded there.",
      hint: "Name a session in which work was done; `bonsai sessions` lists them.",
    });
  const policies = policiesOf(invocation);
  const { models } = await knownCatalogue(io);
  const rows: PolicyRow[] = [];
  await withProgress(io, `Playing ${counted(recordings.length, "session")} again`, async () => {
    for (const policy of policies) {
      const replays: Replay[] = [];
      for (const recording of recordings) {
        const model = models.find(({ provider, id }) => `${provider}/${id}` === recording.model);
        const windowTokens = Number(options.window ?? (model?.contextWindow || USUAL_WINDOW));
        const prices = model?.usdPerMillionTokens ?? MIDDLING;
        const cacheRules = model?.cacheRules ?? usualCacheRules;
        replays.push(
          await replay({ recording, settings: policy.settings, prices, cacheRules, windowTokens }),
        );
      }
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

function recordingsOf(invocation: Invocation): Recording[] {
  const { args, io, options, output } = invocation;
  const call = { io, options };
  if (options.all === true) {
    const { sessions } = listSessions({ ...sessionPlace(call), cwd: io.cwd });
    return sessions.map(({ file }) => recorded(file, invocation));
  }
  const [name] = args;
  if (name === undefined) {
    const onNotice = (notice: Parameters<typeof output.notify>[0]) => output.notify(notice);
    return [recorded(latestSession({ cwd: io.cwd, call, onNotice }), invocation)];
  }
  const folder = resolve(io.cwd, name);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    return readdirSync(folder)
      .filter((file) => file.endsWith(".jsonl"))
      .sort()
      .map((file) => recorded(join(folder, file), invocation));
  const imported = transcriptSession(invocation, "what is played is a session made of it");
  return [
    imported === undefined ? recorded(sessionFile(invocation), invocation) : recordingOf(inMemory(imported)),
  ];
}

function recorded(file: string, invocation: Invocation): Recording {
  const session = openSessionFile(file, invocation);
  try {
    return recordingOf(session);
  } finally {
    session.close();
  }
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
