import { addUsage, BonsaiError, CostSum, emptyUsage, type Model, type Usage } from "@bonsai-agent/messages";
import { loadCatalogue } from "@bonsai-agent/models";
import { bonsaiHome, type Entry, type SessionHeader } from "@bonsai-agent/session";
import type { CliIo } from "./io.ts";

/** What the entries of a session add up to, over all its branches. */
interface SessionFacts {
  entryCount: number;
  /** Messages by role, other entries by type; only what occurs. */
  counts: Record<string, number>;
  /** All that was asked of models: answers, compactions, branch summaries, side requests. */
  usage: Usage;
  /** What that cost, as far as it is known. */
  cost: CostSum;
  /** Answers by `provider/model`, most first. */
  models: { model: string; answers: number }[];
  /** ISO 8601: first and last message; null without a readable time. */
  firstActivity: string | null;
  lastActivity: string | null;
  /** ISO 8601: the latest entry of any kind; a compaction or a move writes without being activity. */
  lastWrite: string | null;
}

/** Adds entries up, one after the other, and keeps none of them. */
export class FactCounter {
  readonly #startMs: number;
  readonly #counts = new Map<string, number>();
  readonly #models = new Map<string, number>();
  readonly #activity = noTimes();
  readonly #writes = noTimes();
  readonly #cost = new CostSum();
  #entryCount = 0;
  #usage = emptyUsage();
  /** Who answered last: the model of requests that do not name theirs. */
  #model: string | undefined;

  /** A fork's copied entries are as old as the fork: what was done before is its origin's activity. */
  constructor({ timestamp = "", parentSession }: Partial<SessionHeader> = {}) {
    const startMs = parentSession === undefined ? Number.NaN : Date.parse(timestamp);
    this.#startMs = Number.isNaN(startMs) ? Number.NEGATIVE_INFINITY : startMs;
  }

  add(entry: Entry): void {
    this.#entryCount += 1;
    increment(this.#counts, kind(entry));
    const model = modelOf(entry);
    if (model !== undefined) increment(this.#models, model);
    const usage = usageOf(entry);
    this.#usage = addUsage(this.#usage, usage);
    this.#model = model ?? this.#model;
    this.#cost.add(usage, entry.type === "usage" ? `${entry.provider}/${entry.model}` : this.#model);
    const writtenMs = Math.max(this.#startMs, Date.parse(entry.timestamp));
    noteTime(this.#writes, writtenMs);
    if (entry.type === "message" || entry.type === "custom_message") noteTime(this.#activity, writtenMs);
  }

  facts(): SessionFacts {
    return {
      entryCount: this.#entryCount,
      counts: Object.fromEntries(mostFirst(this.#counts)),
      usage: this.#usage,
      cost: this.#cost,
      models: mostFirst(this.#models).map(([model, answers]) => ({ model, answers })),
      firstActivity: isoTime(this.#activity.first),
      lastActivity: isoTime(this.#activity.last),
      lastWrite: isoTime(this.#writes.last),
    };
  }
}

function mostFirst(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function kind(entry: Entry): string {
  if (entry.type !== "message") return entry.type;
  return typeof entry.message?.role === "string" ? entry.message.role : "damagedMessage";
}

function modelOf(entry: Entry): string | undefined {
  if (entry.type !== "message" || entry.message?.role !== "assistant") return undefined;
  const { provider, model } = entry.message;
  return `${typeof provider === "string" ? provider : "?"}/${typeof model === "string" ? model : "?"}`;
}

function usageOf(entry: Entry): Usage {
  if (entry.type === "message") {
    const { message } = entry;
    // A tool's own requests: those of a sub-agent.
    const isAsked = message?.role === "assistant" || message?.role === "toolResult";
    return wholeUsage(isAsked ? message.usage : undefined);
  }
  return wholeUsage("usage" in entry ? entry.usage : undefined);
}

/** Recordings can lack a usage or parts of it, or hold what is no number. */
function wholeUsage(usage: Partial<Usage> | undefined): Usage {
  const none = emptyUsage();
  const cost = { ...none.cost, ...numbersOf(usage?.cost) };
  return { ...none, ...numbersOf(usage), cost };
}

function numbersOf(value: unknown): Record<string, number> {
  if (typeof value !== "object" || value === null) return {};
  const numbers: Record<string, number> = {};
  for (const [key, each] of Object.entries(value)) if (Number.isFinite(each)) numbers[key] = each;
  return numbers;
}

interface Times {
  first: number;
  last: number;
}

function noTimes(): Times {
  return { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
}

function noteTime(times: Times, ms: number): void {
  if (Number.isNaN(ms)) return;
  times.first = Math.min(times.first, ms);
  times.last = Math.max(times.last, ms);
}

function isoTime(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null;
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Tells of `provider/model` whether its price is known to be 0. */
export type IsFree = (model: string) => boolean;

/** By the prices of a catalogue. */
export function freeAmong(models: readonly Model[]): IsFree {
  const free = new Set(models.filter(isFreeModel).map(({ provider, id }) => `${provider}/${id}`));
  return (model) => free.has(model);
}

function isFreeModel({ usdPerMillionTokens: prices }: Model): boolean {
  return prices !== undefined && Object.values(prices).every((price) => price === 0);
}

/** For commands that need models for nothing else: who cannot read the user's models knows of none that is free. */
export async function freeModels({ env }: CliIo): Promise<IsFree> {
  try {
    const { models } = await loadCatalogue({ home: bonsaiHome(env), env });
    return freeAmong(models);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    return () => false;
  }
}
