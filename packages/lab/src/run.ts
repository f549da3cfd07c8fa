import { CostSum, type KnownCost } from "@bonsai-agent/messages";
import { add, noTokens } from "./bill.ts";
import type { Policy } from "./policies.ts";
import { type MissedPrefixes, missedPrefixes, type RecordedTotals } from "./recording.ts";
import { type Replay, type ReplayOptions, replay } from "./replay.ts";

/** A recording with the prices and rules of its model, or of another one. */
export type Day = Omit<ReplayOptions, "settings"> &
  Required<Pick<ReplayOptions, "cacheRules">> & {
    /** The model, if its prices or window are unknown and those of an average model are used. */
    assumed?: string;
  };

/** A policy to replay. */
export interface PlayedPolicy extends Pick<Policy, "name" | "settings"> {
  /** The recorded days on another model. Default: on their own. */
  days?: readonly Day[] | undefined;
}

/** Recorded days, replayed under several policies. */
export interface LabRun {
  sessions: number;
  /** The recorded totals. `missed`: cost that no replay includes. */
  recorded: Omit<RecordedTotals, "cost"> & KnownCost & { missed: MissedPrefixes };
  /** Models with unknown prices or window. The replay uses those of an average model. */
  assumed: string[];
  /** Windows of the replays that no request of their recordings came near, in tokens. */
  unreachedWindows: number[];
  policies: PolicyResult[];
}

type Summed =
  | "requests"
  | "masks"
  | "tokens"
  | "usd"
  | "summaries"
  | "readAgain"
  | "recalls"
  | "lossesUsd"
  | "tooLarge";

/** The outcome of all days under one policy: sums of its replays. */
export interface PolicyResult extends Pick<Replay, Summed> {
  policy: string;
  /** All sent tokens, cached or not, without summary requests. */
  sentTokens: number;
  /** Number of compactions by reason. */
  compactions: Record<string, number>;
  highestTokens: number;
  /** Means; null without a compaction or a needed term. */
  neededAfter: number | null;
  neededAlong: number | null;
  wordsKept: number | null;
  waitedSeconds: number;
  /** Why the provider's compaction was not used, although the policy asks for it. */
  noProvider: string[];
  /** Tokens of each request of the longest day. */
  context: number[];
}

interface PlayOptions {
  /** On the recorded models. */
  days: readonly Day[];
  policies: readonly PlayedPolicy[];
  /** Called with the finished share, 0 to 1. */
  onProgress?: (share: number) => void;
  signal?: AbortSignal;
}

/** Replays all days under each policy. @throws the signal's reason after an abort */
export async function playPolicies({ days, policies, onProgress, signal }: PlayOptions): Promise<LabRun> {
  const results: PolicyResult[] = [];
  for (const { name, settings, days: played = days } of policies) {
    const replays: Replay[] = [];
    for (const day of played) {
      replays.push(await replay({ ...day, settings, signal }));
      onProgress?.((results.length + replays.length / days.length) / policies.length);
    }
    const refusals = played.flatMap(({ provider }) => provider?.unavailable ?? []);
    const noProvider = settings.summarizer.kind === "provider" ? [...new Set(refusals)] : [];
    results.push({ ...resultOf(name, replays), noProvider });
  }
  const all = policies.flatMap(({ days: played = days }) => played);
  return {
    sessions: days.length,
    recorded: recordedOf(days),
    assumed: [...new Set(all.flatMap((day) => day.assumed ?? []))],
    unreachedWindows: [...new Set(all.filter(isUnreached).map(({ windowTokens }) => windowTokens))],
    policies: results,
  };
}

/** Share of the window from which a recording counts as having reached it. */
const REACHED_SHARE = 0.8;

function isUnreached({ recording: { recorded }, windowTokens }: Day): boolean {
  return recorded.highestTokens < windowTokens * REACHED_SHARE;
}

function recordedOf(days: readonly Day[]): LabRun["recorded"] {
  const total = { requests: 0, sentTokens: 0, compactions: 0, highestTokens: 0 };
  const cost = new CostSum();
  const missed = { requests: 0, tokens: 0, usd: 0 };
  for (const day of days) {
    const { recorded } = day.recording;
    for (const name of ["requests", "sentTokens", "compactions"] as const) total[name] += recorded[name];
    total.highestTokens = Math.max(total.highestTokens, recorded.highestTokens);
    cost.addSum(recorded.cost);
    const own = missedPrefixes(day.recording, day);
    for (const name of ["requests", "tokens", "usd"] as const) missed[name] += own[name];
  }
  return { ...total, ...cost.cost(), missed };
}

function resultOf(policy: string, replays: readonly Replay[]): Omit<PolicyResult, "noProvider"> {
  const sum = (value: (replay: Replay) => number) => replays.reduce((total, each) => total + value(each), 0);
  const compactions: Record<string, number> = {};
  const tokens = noTokens();
  const summaryTokens = noTokens();
  for (const replayed of replays) {
    for (const [reason, count] of Object.entries(replayed.compactions))
      compactions[reason] = (compactions[reason] ?? 0) + count;
    add(tokens, replayed.tokens);
    add(summaryTokens, replayed.summaries.tokens);
  }
  return {
    policy,
    requests: sum(({ requests }) => requests),
    sentTokens: tokens.input + tokens.cacheRead + tokens.cacheWrite,
    masks: sum(({ masks }) => masks),
    compactions,
    highestTokens: replays.reduce((most, { context }) => context.reduce((a, b) => Math.max(a, b), most), 0),
    tokens,
    usd: sum(({ usd }) => usd),
    summaries: {
      requests: sum(({ summaries }) => summaries.requests),
      usd: sum(({ summaries }) => summaries.usd),
      tokens: summaryTokens,
    },
    neededAfter: mean(replays.flatMap(({ neededAfter }) => neededAfter)),
    neededAlong: mean(replays.flatMap(({ neededAlong }) => neededAlong)),
    wordsKept: mean(replays.flatMap(({ wordsKept }) => wordsKept)),
    readAgain: sum(({ readAgain }) => readAgain),
    recalls: sum(({ recalls }) => recalls),
    lossesUsd: sum(({ lossesUsd }) => lossesUsd),
    tooLarge: sum(({ tooLarge }) => tooLarge),
    waitedSeconds: Math.round(sum(({ waitedMs }) => waitedMs) / 1_000),
    context: [...replays].sort((a, b) => b.context.length - a.context.length)[0]?.context ?? [],
  };
}

function mean(shares: readonly number[]): number | null {
  return shares.length === 0 ? null : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

/** Number of compactions for all reasons. */
export function compactionCount({ compactions }: Pick<PolicyResult, "compactions">): number {
  return Object.values(compactions).reduce((sum, count) => sum + count, 0);
}
