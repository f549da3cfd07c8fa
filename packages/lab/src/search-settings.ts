import {
  type CompactionSettingsInput,
  compactionPresets,
  compactionSettings,
} from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import { type Policy, policyNamed, usualPolicies } from "./policies.ts";
import { type Replay, type ReplayOptions, replay } from "./replay.ts";

interface SearchOptions {
  /** Days with prices and window. At least two: one to train, one to test. */
  days: ReadonlyArray<Omit<ReplayOptions, "settings">>;
  /** The settings to improve. */
  baseline: Policy;
  /** Number of random settings to try. Default 24. */
  tried?: number;
  /** Seed of the random settings. Default 1. */
  seed?: number;
  /** Called with the finished share, 0 to 1. */
  onProgress?: (share: number) => void;
  signal?: AbortSignal;
}

export interface Tuned {
  /** The settings to write; empty if none were better. */
  settings: CompactionSettingsInput;
  /** Number of days for training and for the test. */
  trained: number;
  tested: number;
  /** The current and the best settings on the test days. */
  before: TestedPolicy;
  after: TestedPolicy;
  /** False if nothing was better on the test days. */
  isBetter: boolean;
  /** All presets, and `bonsai+auto`, on the test days. */
  presets: TestedPolicy[];
}

/** A policy on the test days: its savings, its share of needed terms in view, and its waiting time. */
export interface TestedPolicy {
  name: string;
  /** Total cost, with losses. */
  usd: number;
  savings: number[];
  needed: number;
  waitedSeconds: number;
}

const TRIED = 24;

/**
 * Searches for the settings with the lowest total cost by successive halving: all candidates on the longest day, the
 * better half on twice as many days, and so on. Then compares the best with the baseline on the test days.
 * @throws BonsaiError `tune_needs_days`; the signal's reason after an abort
 */
export async function searchSettings(options: SearchOptions): Promise<Tuned> {
  const { baseline, tried = TRIED, seed = 1, onProgress, signal } = options;
  const days = eachOnce(options.days);
  if (days.length < 2)
    throw new BonsaiError({
      code: "tune_needs_days",
      message: `Tuning needs at least two different sessions, one to train and one to test. Found ${days.length === 1 ? "one" : "none"}.`,
      hint: "Name a folder with more sessions, or use --all for all sessions of this folder.",
    });
  // The longest first: on a short day all policies are equal, and chance would choose.
  const train = days.filter((_, at) => at % 2 === 0).sort((a, b) => lengthOf(b) - lengthOf(a));
  const test = days.filter((_, at) => at % 2 === 1);
  let candidates = [...usualPolicies(), ...drawn(tried, seed)];
  const rounds = roundsOf(candidates.length, train);
  const shown = [...Object.keys(compactionPresets), "bonsai+auto"].map(policyNamed);
  const steps = rounds.reduce((sum, { count, days }) => sum + (count + 1) * messagesIn(days), 0);
  const played = new PlayedDays({
    ...{ baseline, signal, onProgress },
    steps: steps + (shown.length + 2) * messagesIn(test),
  });
  for (const { days } of rounds) {
    const scored: Array<{ candidate: Policy; score: number }> = [];
    for (const candidate of candidates)
      scored.push({ candidate, score: await played.score(candidate, days) });
    scored.sort((a, b) => a.score - b.score);
    candidates = scored.slice(0, Math.floor(scored.length / 2)).map(({ candidate }) => candidate);
  }
  const best = candidates[0]!;
  const after = await played.compare(best, test);
  const before = await played.compare(baseline, test);
  const presets: TestedPolicy[] = [];
  for (const policy of shown) presets.push(await played.compare(policy, test));
  const isBetter = after.usd < before.usd;
  return {
    settings: isBetter ? best.input : {},
    ...{ trained: train.length, tested: test.length, before, after, isBetter, presets },
  };
}

/** The days of each round of halving, and the number of its candidates. */
function roundsOf(
  candidates: number,
  train: SearchOptions["days"],
): Array<{ count: number; days: SearchOptions["days"] }> {
  const rounds = [];
  for (let [count, days] = [candidates, 1]; count > 1; count = Math.floor(count / 2)) {
    rounds.push({ count, days: train.slice(0, days) });
    days = Math.min(train.length, days * 2);
  }
  return rounds;
}

function messagesIn(days: SearchOptions["days"]): number {
  return days.reduce((sum, day) => sum + lengthOf(day), 0);
}

/** Days without copies, so that no day is in both parts. */
function eachOnce(days: SearchOptions["days"]): SearchOptions["days"] {
  const known = new Set<string>();
  return days.filter(({ recording: { messages } }) => {
    const key = JSON.stringify([messages.length, messages.slice(0, COMPARED_MESSAGES)]);
    if (known.has(key)) return false;
    known.add(key);
    return true;
  });
}

/** Messages that are compared to find copies. */
const COMPARED_MESSAGES = 20;

function lengthOf({ recording }: SearchOptions["days"][number]): number {
  return recording.messages.length;
}

interface PlayedDaysOptions extends Pick<SearchOptions, "baseline" | "onProgress" | "signal"> {
  /** Expected number of replayed messages. */
  steps: number;
}

/** Keeps replays, because halving repeats them. */
class PlayedDays {
  readonly #options: PlayedDaysOptions;
  readonly #played = new Map<string, Replay>();
  readonly #numbers = new Map<object, number>();
  #steps = 0;

  constructor(options: PlayedDaysOptions) {
    this.#options = options;
  }

  async play(policy: Policy, day: SearchOptions["days"][number]): Promise<Replay> {
    const { signal, steps, onProgress } = this.#options;
    const number = this.#numbers.get(day) ?? this.#numbers.size;
    this.#numbers.set(day, number);
    const key = `${number} ${JSON.stringify(policy.settings)}`;
    const played = this.#played.get(key) ?? (await replay({ ...day, settings: policy.settings, signal }));
    this.#played.set(key, played);
    this.#steps += lengthOf(day);
    onProgress?.(Math.min(1, this.#steps / steps));
    return played;
  }

  /** A policy against the baseline. */
  async compare(policy: Policy, days: SearchOptions["days"]): Promise<TestedPolicy> {
    const tested = { name: policy.name, usd: 0, savings: [] as number[], needed: 0, waitedSeconds: 0 };
    for (const day of days) {
      const [before, after] = [await this.play(this.#options.baseline, day), await this.play(policy, day)];
      tested.usd += after.usd;
      tested.savings.push(before.usd === 0 ? 0 : 1 - after.usd / before.usd);
      tested.needed += neededOf(after) / days.length;
      tested.waitedSeconds += after.waitedMs / 1_000;
    }
    return tested;
  }

  /** Mean cost as a share of the baseline's; lower is better. */
  async score(policy: Policy, days: SearchOptions["days"]): Promise<number> {
    const { savings } = await this.compare(policy, days);
    return 1 - mean(savings);
  }
}

/** Measured along all requests, because masks hide terms too. */
function neededOf({ neededAlong }: Replay): number {
  return neededAlong.length === 0 ? 1 : mean(neededAlong);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const knobs = {
  economy: ["off", "auto", 32_000, 48_000, 64_000, 96_000, 128_000],
  keepRecentTokens: [8_000, 12_000, 20_000, 32_000],
  protectTokens: [0, 8_000, 20_000, 40_000],
  words: [2_000, 4_000, 8_000],
  terms: [500, 1_000, 2_000],
} as const;

/** Random settings by a seed, without repeats. */
function drawn(count: number, seed: number): Policy[] {
  let state = seed;
  const next = <Value>(values: readonly Value[]): Value => {
    state = (state * 48_271) % 2_147_483_647;
    return values[state % values.length]!;
  };
  const made = new Map<string, Policy>();
  for (let attempt = 0; attempt < count * 4 && made.size < count; attempt += 1) {
    const economy = next(knobs.economy);
    const protectTokens = next(knobs.protectTokens);
    const input: CompactionSettingsInput = {
      economy,
      keepRecentTokens: next(knobs.keepRecentTokens),
      mask: protectTokens === 0 ? { enabled: false } : { protectTokens, minimumTokens: protectTokens / 2 },
      words: { maxTokens: next(knobs.words) },
      terms: { maxTokens: next(knobs.terms) },
    };
    const name = JSON.stringify(input);
    made.set(name, { name, input, settings: compactionSettings(input) });
  }
  return [...made.values()];
}
