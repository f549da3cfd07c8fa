import { byScript } from "@bonsai-agent/messages";
import {
  askSummary,
  promptTokens,
  type SummaryJob,
  type SummaryPart,
  summaryRequest,
} from "./ask-summary.ts";
import type { Budgets } from "./budget.ts";
import { type SpanPart, summariseInChunks } from "./chunks.ts";
import { originalMessage, type ViewItem } from "./context-view.ts";
import type { CompactionPlan } from "./plan.ts";
import { serialise } from "./serialise.ts";
import type { CompactionSettings } from "./settings-schema.ts";
import type { SummaryKind } from "./summariser.ts";
import { highTokens, maxSummaryTokens, requestCapacity } from "./summary-sizes.ts";
import { joinedProse, previousProse } from "./summary-text.ts";

export interface SpanOptions {
  plan: CompactionPlan;
  job: SummaryJob;
  /** True where the summariser has found one request for each span too long. */
  wasRefused?: boolean;
  settings: CompactionSettings;
  budgets: Budgets;
}

/** The same with a bound on the whole prose, in tokens. */
export interface BoundedOptions extends SpanOptions {
  maxTokens: number;
}

/** Summarises history and turn prefix in parallel, one request each, and joins them. */
export function summariseWhole(options: SpanOptions): Promise<string> {
  return summariseParts(options, (part, job) => askSummary(job, wholePart(part)));
}

/** Summarises history and turn prefix in parallel, each in as many requests as it takes. */
export function summariseChunked(options: SpanOptions): Promise<string> {
  const mostTokens = options.wasRefused ? Math.floor(largestSpanTokens(options) / 2) : undefined;
  return summariseParts(options, (part, job) => summariseInChunks(job, part, mostTokens));
}

/** What was refused is at least as long; the shorter span may have fitted. */
function largestSpanTokens(options: SpanOptions): number {
  const { estimator } = options.job;
  const tokens = spanParts(options).map((part) => estimator.text(wholePart(part).conversation));
  return Math.max(...tokens);
}

/** True when one request for each span fits the summariser. */
export function fitsWhole(options: SpanOptions): boolean {
  const capacity = requestCapacity(options.job.summariser);
  if (capacity === Number.POSITIVE_INFINITY) return true;
  return spanParts(options).every((part) => {
    const { prompt } = summaryRequest(options.job, wholePart(part));
    return promptTokens(prompt, options.job.estimator) <= capacity;
  });
}

/**
 * Within a bound, for a summariser that answers at once: the turn prefix first, for it says little, then the history
 * with all that is left.
 */
export async function summariseWithin(options: BoundedOptions): Promise<string> {
  const { plan, job, maxTokens } = options;
  const prefixPart = spanParts(options).find((part) => part.kind === "turnPrefix");
  const prefixTokens = Math.min(PREFIX_TOKENS, Math.floor(maxTokens * SHARED));
  const prefix = prefixPart && (await askSummary(job, wholePart(prefixPart, prefixTokens)));
  const left = maxTokens - (prefix === undefined ? 0 : byScript(joinedProse("", prefix)));
  const previous = previousProse(plan.previous);
  const asksHistory = plan.history.length > 0 || (previous !== undefined && highTokens(previous) > left);
  const historyPart = asksHistory ? spanPart(options, "history", plan.history, previous) : undefined;
  const history = historyPart && (await askSummary(job, wholePart(historyPart, left)));
  return joinedProse(history ?? previous, prefix);
}

/** What a turn prefix is asked within; it takes a third of it, for it stands beside a history. */
const PREFIX_TOKENS = 1_800;
/** Of a small bound, a turn prefix leaves this part to the history. */
const SHARED = 0.72;

async function summariseParts(
  options: SpanOptions,
  summarise: (part: SpanPart, job: SummaryJob) => Promise<string>,
): Promise<string> {
  const parts = spanParts(options);
  const texts = await allOrNone(options.job, (job) => parts.map((part) => summarise(part, job)));
  const textOf = (kind: SummaryKind) => texts[parts.findIndex((part) => part.kind === kind)];
  // Without new history, the previous summary stands for the history as it is.
  return joinedProse(textOf("history") ?? previousProse(options.plan.previous), textOf("turnPrefix"));
}

/** Runs in parallel; when one fails, the others are aborted, for nobody would pay for half a summary. */
async function allOrNone(job: SummaryJob, start: (job: SummaryJob) => Promise<string>[]): Promise<string[]> {
  const stop = new AbortController();
  const signal = AbortSignal.any([job.signal, stop.signal]);
  const failures: unknown[] = [];
  const guarded = start({ ...job, signal }).map((summary) =>
    summary.catch((error: unknown) => {
      failures.push(error);
      stop.abort();
      return "";
    }),
  );
  const texts = await Promise.all(guarded);
  if (failures.length > 0) throw failures[0];
  return texts;
}

export function spanParts(options: SpanOptions): SpanPart[] {
  const { plan } = options;
  return [
    ...(plan.history.length > 0
      ? [spanPart(options, "history", plan.history, previousProse(plan.previous))]
      : []),
    ...(plan.turnPrefix.length > 0 ? [spanPart(options, "turnPrefix", plan.turnPrefix)] : []),
  ];
}

function spanPart(
  { plan, job, settings, budgets }: SpanOptions,
  kind: SummaryKind,
  items: readonly ViewItem[],
  previousSummary?: string,
): SpanPart {
  const kept = plan.kept.map(originalMessage);
  return {
    kind,
    messages: items.map(originalMessage),
    following: kind === "history" ? [...plan.turnPrefix.map(originalMessage), ...kept] : kept,
    previousSummary,
    maxSummaryTokens: () => maxSummaryTokens(kind, job.summariser, budgets),
    limits: settings.serialize,
  };
}

export function wholePart(part: SpanPart, mostTokens = Number.POSITIVE_INFINITY): SummaryPart {
  return {
    ...part,
    isWhole: true,
    get conversation() {
      return serialise(part.messages, part.limits).join("\n\n");
    },
    maxSummaryTokens: Math.min(part.maxSummaryTokens(), mostTokens),
  };
}
