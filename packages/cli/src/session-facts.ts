import { addUsage, emptyUsage, type Usage } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";

/** What the entries of a session add up to, over all its branches. */
export interface SessionFacts {
  /** Messages by role, other entries by type; only what occurs. */
  counts: Record<string, number>;
  /** All that was asked of models: answers, compactions, branch summaries, side requests. */
  usage: Usage;
  /** Answers by `provider/model`, most first. */
  models: { model: string; answers: number }[];
  /** ISO 8601; null without a readable time. */
  firstActivity: string | null;
  lastActivity: string | null;
}

export function sessionFacts(entries: readonly Entry[]): SessionFacts {
  const counts = new Map<string, number>();
  const models = new Map<string, number>();
  const times = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
  let usage = emptyUsage();
  for (const entry of entries) {
    increment(counts, kind(entry));
    const model = modelOf(entry);
    if (model !== undefined) increment(models, model);
    usage = addUsage(usage, usageOf(entry));
    noteTime(times, Date.parse(entry.timestamp));
  }
  return {
    counts: Object.fromEntries([...counts].sort((a, b) => b[1] - a[1])),
    usage,
    models: [...models].sort((a, b) => b[1] - a[1]).map(([model, answers]) => ({ model, answers })),
    firstActivity: isoTime(times.first),
    lastActivity: isoTime(times.last),
  };
}

function kind(entry: Entry): string {
  if (entry.type !== "message") return entry.type;
  return typeof entry.message?.role === "string" ? entry.message.role : "damagedMessage";
}

function modelOf(entry: Entry): string | undefined {
  if (entry.type !== "message" || entry.message?.role !== "assistant") return undefined;
  return `${entry.message.provider}/${entry.message.model}`;
}

function usageOf(entry: Entry): Usage {
  if (entry.type === "message")
    return wholeUsage(entry.message?.role === "assistant" ? entry.message.usage : undefined);
  return wholeUsage("usage" in entry ? entry.usage : undefined);
}

/** Recordings can lack a usage or parts of it. */
function wholeUsage(usage: Partial<Usage> | undefined): Usage {
  const none = emptyUsage();
  return { ...none, ...usage, cost: { ...none.cost, ...usage?.cost } };
}

function noteTime(times: { first: number; last: number }, ms: number): void {
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
