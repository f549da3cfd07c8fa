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
  /** Number of random settings to try. Default 32. */
  tried?: number;
  /** Accepted loss of needed terms in view, 0 to 1. Default 0.02. */
  loss?: number;
  /** Seed of the random settings. Default 1. */
  seed?: number;
}

export interface Tuned {
  /** The settings to write; empty if none were better. */
  settings: CompactionSettingsInput;
  name: string;
  /** Number of days for training and for the test. */
  trained: number;
  tested: number;
  /** Saved share of the cost on each test day against the baseline; below 0 for a higher cost. */
  savings: number[];
  /** Mean share of needed terms in view on the test days. */
  needed: { baseline: number; tuned: number };
  /** False if nothing was better on the test days. */
  isBetter: boolean;
  /** All presets on the test days. */
  presets: TestedPolicy[];
}

/** A policy's savings on the test days, and its share of needed terms in view. */
export interface TestedPolicy {
  name: string;
  savings: number[];
  needed: number;
}

const TRIED = 32;
const LOSS = 0.02;

/**
 * Searches for better settings by successive halving: all candidates on the longest day, the better half on twice as many
 * days, and so on. Then compares the best with the baseline on the test days.
 * @throws BonsaiError `tune_needs_days`
 */
export async function searchSettings(options: SearchOptions): Promise<Tuned> {
  const { baseline, tried = TRIED, loss = LOSS, seed = 1 } = options;
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
  const played = new PlayedDays(baseline, loss);
  let candidates = [...usualPolicies(), ...drawn(tried, seed)];
  for (let count = 1; candidates.length > 1; count = Math.min(train.length, count * 2)) {
    const scored: Array<{ candidate: Policy; score: number }> = [];
    for (const candidate of candidates)
      scored.push({ candidate, score: await played.score(candidate, train.slice(0, count)) });
    scored.sort((a, b) => a.score - b.score);
    candidates = scored.slice(0, Math.floor(scored.length / 2)).map(({ candidate }) => candidate);
  }
  const best = candidates[0]!;
  const { savings, needed: tuned } = await played.compare(best, test);
  const { needed: now } = await played.compare(baseline, test);
  const presets: TestedPolicy[] = [];
  for (const name of Object.keys(compactionPresets))
    presets.push(await played.compare(policyNamed(name), test));
  const isBetter = mean(savings) > 0 && tuned >= now - loss;
  return {
    settings: isBetter ? best.input : {},
    name: best.name,
    ...{ trained: train.length, tested: test.length, savings, isBetter, presets },
    needed: { baseline: now, tuned },
  };
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

/** Keeps replays, because halving repeats them. */
class PlayedDays {
  readonly #baseline: Policy;
  readonly #loss: number;
  readonly #played = new Map<string, Promise<Replay>>();
  readonly #numbers = new Map<object, number>();

  constructor(baseline: Policy, loss: number) {
    this.#baseline = baseline;
    this.#loss = loss;
  }

  play(policy: Policy, day: SearchOptions["days"][number]): Promise<Replay> {
    const number = this.#numbers.get(day) ?? this.#numbers.size;
    this.#numbers.set(day, number);
    const key = `${number} ${JSON.stringify(policy.settings)}`;
    const known = this.#played.get(key) ?? replay({ ...day, settings: policy.settings });
    this.#played.set(key, known);
    return known;
  }

  /** A policy against the baseline. */
  async compare(policy: Policy, days: SearchOptions["days"]): Promise<TestedPolicy> {
    const savings: number[] = [];
    const needed: number[] = [];
    for (const day of days) {
      const [before, after] = [await this.play(this.#baseline, day), await this.play(policy, day)];
      savings.push(before.usd === 0 ? 0 : 1 - after.usd / before.usd);
      needed.push(neededOf(after));
    }
    return { name: policy.name, savings, needed: mean(needed) };
  }

  /** Cost as a share of the baseline's; lower is better. A policy that loses too much scores worse than all others. */
  async score(policy: Policy, days: SearchOptions["days"]): Promise<number> {
    let score = 0;
    for (const day of days) {
      const [base, own] = [await this.play(this.#baseline, day), await this.play(policy, day)];
      const lost = Math.max(0, neededOf(base) - this.#loss - neededOf(own));
      score += (base.usd === 0 ? 1 : own.usd / base.usd) + lost * LOST_WEIGHT;
    }
    return score / days.length;
  }
}

/** Weight of a loss beyond the accepted one. */
const LOST_WEIGHT = 100;

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
