import { basename } from "node:path";
import { isFreeModel, type Model } from "@bonsai-agent/messages";
import { answeringModel, type Entry, type SessionHeader, UsageCounter } from "@bonsai-agent/session";

/** Sums over all entries of a session, on all its branches. Keeps no entry. */
export class FactCounter {
  readonly #startMs: number;
  readonly #counts = new Map<string, number>();
  readonly #models = new Map<string, number>();
  readonly #activity = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
  readonly #usage = new UsageCounter();
  #entryCount = 0;

  /** A fork's activity begins with the fork: its copied entries are the origin's activity. */
  constructor({ timestamp = "", parentSession }: Partial<SessionHeader> = {}) {
    const startMs = parentSession === undefined ? Number.NaN : Date.parse(timestamp);
    this.#startMs = Number.isNaN(startMs) ? Number.NEGATIVE_INFINITY : startMs;
  }

  add(entry: Entry): void {
    this.#entryCount += 1;
    increment(this.#counts, kind(entry));
    const model = answeringModel(entry);
    if (model !== undefined) increment(this.#models, model);
    this.#usage.add(entry);
    if (entry.type !== "message" && entry.type !== "custom_message") return;
    const ms = Math.max(this.#startMs, Date.parse(entry.timestamp));
    if (Number.isNaN(ms)) return;
    this.#activity.first = Math.min(this.#activity.first, ms);
    this.#activity.last = Math.max(this.#activity.last, ms);
  }

  facts() {
    return {
      entryCount: this.#entryCount,
      counts: Object.fromEntries(sortByCount(this.#counts)),
      usage: this.#usage.usage,
      cost: this.#usage.cost,
      models: sortByCount(this.#models).map(([model, answers]) => ({ model, answers })),
      firstActivity: isoTime(this.#activity.first),
      lastActivity: isoTime(this.#activity.last),
    };
  }
}

function sortByCount(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function kind(entry: Entry): string {
  if (entry.type !== "message") return entry.type;
  return typeof entry.message?.role === "string" ? entry.message.role : "damagedMessage";
}

function isoTime(ms: number): string | null {
  return Number.isFinite(ms) ? new Date(ms).toISOString() : null;
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** True if the price of `provider/model` is known to be 0. */
export type IsFree = (model: string) => boolean;

/** By the prices of a catalogue. */
export function freeAmong(models: readonly Model[]): IsFree {
  const free = new Set(models.filter(isFreeModel).map(({ provider, id }) => `${provider}/${id}`));
  return (model) => free.has(model);
}

/** `fork of ID`, by the id in the name of its origin's file, or by that name. */
export function forkWords(parentSession: string): string {
  const name = basename(parentSession);
  return `fork of ${/_([^_]+)\.jsonl$/.exec(name)?.[1]?.slice(0, 8) ?? name}`;
}
