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
import type { CompactionSettings } from "./settings.ts";
import type { SummaryKind } from "./summariser.ts";
import { highTokens, maxSummaryTokens, requestCapacity } from "./summary-sizes.ts";
import { joinedProse, previousProse } from "./summary-text.ts";

export interface SpanOptions {
  plan: CompactionPlan;
  job: SummaryJob;
  settings: CompactionSettings;
  budgets: Budgets;
  /** A bound on the whole prose, in tokens. */
  maxTokens?: number | undefined;
}

/** Summarises history and turn prefix in parallel, one request each, and joins them. */
export function summariseWhole(options: SpanOptions): Promise<string> {
  return summariseParts(options, (part, job) => askSummary(job, wholePart(part)));
}

/** Summarises history and turn prefix in parallel, each in as many requests as it takes. */
export function summariseChunked(options: SpanOptions): Promise<string> {
  return summariseParts(options, (part, job) => summariseInChunks(job, part));
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

/**
 * Where two texts share a bound, each is asked for within this part of it: a turn prefix takes a third of what it is
 * allowed, for it stands beside a history.
 */
const SHARED = 0.72;
const TURN_PREFIX_SHARE = 0.35;

function spanParts(options: SpanOptions): SpanPart[] {
  const { plan, job, settings, budgets, maxTokens = Number.POSITIVE_INFINITY } = options;
  const previous = previousProse(plan.previous);
  const asksHistory = plan.history.length > 0 || outgrows(previous, maxTokens);
  const bounds = boundsOf({ plan, asksHistory, previous, maxTokens });
  const kept = plan.kept.map(originalMessage);
  const prefix = plan.turnPrefix.map(originalMessage);
  const part = (kind: SummaryKind, items: readonly ViewItem[], previousSummary?: string): SpanPart => ({
    kind,
    messages: items.map(originalMessage),
    following: kind === "history" ? [...prefix, ...kept] : kept,
    previousSummary,
    maxSummaryTokens: Math.min(bounds[kind], maxSummaryTokens(kind, job.summariser, budgets)),
    limits: settings.serialize,
  });
  return [
    ...(asksHistory ? [part("history", plan.history, previous)] : []),
    ...(plan.turnPrefix.length > 0 ? [part("turnPrefix", plan.turnPrefix)] : []),
  ];
}

/** Without new history, a previous summary stands as it is, unless it leaves no room for the turn prefix. */
function outgrows(previous: string | undefined, maxTokens: number): boolean {
  return previous !== undefined && highTokens(previous) > maxTokens * SHARED;
}

function boundsOf(of: {
  plan: CompactionPlan;
  asksHistory: boolean;
  previous: string | undefined;
  maxTokens: number;
}): Record<SummaryKind, number> {
  const { plan, asksHistory, previous = "", maxTokens } = of;
  const shared = Math.floor(maxTokens * SHARED);
  const history = plan.turnPrefix.length > 0 ? shared : maxTokens;
  const beside = Math.floor((maxTokens - highTokens(previous)) / TURN_PREFIX_SHARE);
  return { history, turnPrefix: asksHistory ? shared : Math.min(maxTokens, beside), branch: maxTokens };
}

function wholePart(part: SpanPart): SummaryPart {
  return { ...part, conversation: serialise(part.messages, part.limits).join("\n\n") };
}
