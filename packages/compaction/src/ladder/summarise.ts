import type { Message, SecretFilter, TokenEstimator } from "@bonsai-agent/messages";
import { joinedProse, previousProse } from "../carry/summary-text.ts";
import { type Budgets, maxSummaryTokens, mostAnswerTokens, requestCapacity } from "../plan/budget.ts";
import type { CompactionPlan } from "../plan/plan.ts";
import { originalMessage, type ViewItem } from "../plan/view.ts";
import type { CompactionSettings } from "../settings.ts";
import { SummaryFailure, type SummaryKind } from "../summariser.ts";
import {
  askSummary,
  doesNotFit,
  promptTokens,
  type SummaryJob,
  type SummaryPart,
  summaryRequest,
} from "./ask-summary.ts";
import { clipUntil, serialise } from "./serialise.ts";

export interface SpanOptions {
  plan: CompactionPlan;
  job: SummaryJob;
  settings: CompactionSettings;
  budgets: Budgets;
}

/** Summarises history and turn prefix in parallel, one request each, and joins them. */
export function summariseWhole(options: SpanOptions): Promise<string> {
  return summariseParts(options, (part, job) => askSummary(job, wholePart(part)));
}

/**
 * Summarises history and turn prefix in parallel, each in as many requests as it takes.
 * @param wasRefused true where the summariser has found one request for each span too long
 */
export function summariseChunked(options: SpanOptions, wasRefused: boolean): Promise<string> {
  const mostTokens = wasRefused ? Math.floor(largestSpanTokens(options) / 2) : undefined;
  return summariseParts(options, (part, job) => summariseInChunks(job, part, mostTokens));
}

/** What was refused is at least as long; the shorter span may have fitted. */
function largestSpanTokens(options: SpanOptions): number {
  const { estimator } = options.job;
  const tokens = spanParts(options).map((part) => estimator.text(wholePart(part).conversation()));
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

/** In one request for history and turn prefix together, with at most so many tokens, for a summariser that answers at once. */
export function summariseWithin(options: SpanOptions, maxTokens: number): Promise<string> {
  const { plan, job } = options;
  const items = [...plan.history, ...plan.turnPrefix];
  const part = spanPart(options, "history", items, previousProse(plan.previous));
  return askSummary(job, wholePart({ ...part, following: plan.kept.map(originalMessage) }, maxTokens));
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
    secrets: job.secrets,
  };
}

export function wholePart(part: SpanPart, mostTokens = Number.POSITIVE_INFINITY): SummaryPart {
  return {
    ...part,
    isWhole: true,
    conversation: () => serialise(part.messages, part.limits, part.secrets).join(JOINT),
    maxSummaryTokens: Math.min(part.maxSummaryTokens(), mostTokens),
  };
}

/** The smallest part: with less to read in it, no request is worth its instructions. */
const SMALLEST_PART_TOKENS = 100;
const JOINT = "\n\n";
/** Rounding and the joints may add a token or two. */
const ROUNDING_TOKENS = 4;

/** One of the two spans of a plan, ready to be asked for. */
export interface SpanPart {
  kind: SummaryKind;
  messages: readonly Message[];
  following?: readonly Message[] | undefined;
  previousSummary: string | undefined;
  /** The longest answer, by the window that the summariser is known to have now. */
  maxSummaryTokens: () => number;
  limits: CompactionSettings["serialize"];
  secrets?: SecretFilter | undefined;
}

/** A message and its serialised text. */
interface Piece {
  message: Message;
  text: string;
  tokens: number;
}

/** What refusals taught. */
interface PartLimit {
  /** Of conversation in one request. */
  mostTokens: number;
  /** True until the summary so far was looked at in the light of it. */
  isNew: boolean;
}

/** What one request may hold. */
interface PartSize {
  /** Of conversation. */
  tokens: number;
  /** In all. */
  capacityTokens: number;
  maxSummaryTokens: number;
}

/**
 * Summarises oldest first, each request as large as fits, each summary updating the last. A part that is refused as too
 * long is halved, as often as it takes.
 * @param mostTokens of conversation in one request, where more was refused already
 * @throws SummaryFailure when a smallest part fails, or any part for another reason than its length.
 */
async function summariseInChunks(
  job: SummaryJob,
  part: SpanPart,
  mostTokens = Number.POSITIVE_INFINITY,
): Promise<string> {
  const parts = chunkParts(job, part, mostTokens);
  let next = parts.next();
  while (!next.done) {
    const [answer] = await Promise.allSettled([askSummary(job, next.value)]);
    next = answer.status === "fulfilled" ? parts.next(answer.value) : parts.throw(answer.reason);
  }
  return next.value;
}

/** The requests one after the other: each is to be given the summary that the one before it brought, or its failure. */
export function* chunkParts(
  job: SummaryJob,
  part: SpanPart,
  mostTokens = Number.POSITIVE_INFINITY,
): Generator<SummaryPart, string, string> {
  let rest = piecesOf(part.messages, part, job.estimator);
  let limit: PartLimit = { mostTokens, isNew: true };
  let { previousSummary } = part;
  do {
    const size = partSize(job, { ...part, previousSummary }, limit);
    if (size === undefined) {
      rest = [...earlierPieces(previousSummary ?? "", part, job.estimator), ...rest];
      previousSummary = undefined;
      limit = { ...limit, isNew: false };
      continue;
    }
    const chunk = nextChunk(rest, size.tokens, job.estimator);
    try {
      previousSummary = yield {
        ...part,
        messages: chunk.map((piece) => piece.message),
        conversation: () => chunk.map((piece) => piece.text).join(JOINT),
        previousSummary,
        capacityTokens: size.capacityTokens,
        maxSummaryTokens: size.maxSummaryTokens,
      };
      rest = rest.slice(Math.max(1, chunk.length));
    } catch (error) {
      limit = halved(error, chunk);
    }
  } while (rest.length > 0);
  return previousSummary ?? "";
}

/** @throws the error, unless it says that the request was too long, and the part can be smaller. */
function halved(error: unknown, chunk: readonly Piece[]): PartLimit {
  const tokens = chunk.reduce((sum, piece) => sum + piece.tokens, 0);
  const isTooLong = error instanceof SummaryFailure && error.overflow;
  if (!isTooLong || tokens <= SMALLEST_PART_TOKENS) throw error;
  return { mostTokens: Math.max(SMALLEST_PART_TOKENS, Math.floor(tokens / 2)), isNew: true };
}

/**
 * By the window as it is known now, which a refusal may have taught; undefined where the summary so far, made for a larger
 * one, leaves nothing beside it and has to be read in parts itself. Where nothing is left even so, the number of the
 * refusal was wrong, and halving alone finds what fits.
 * @throws SummaryFailure where nothing is left, and nothing was refused yet.
 */
function partSize(job: SummaryJob, part: SpanPart, { mostTokens, isNew }: PartLimit): PartSize | undefined {
  const bare = summaryRequest(job, { ...part, messages: [], conversation: () => "", maxSummaryTokens: 0 });
  const bareTokens = promptTokens(bare.prompt, job.estimator) + ROUNDING_TOKENS;
  const capacityTokens = requestCapacity(job.summariser);
  const leftTokens = capacityTokens - bareTokens;
  const answerTokens = mostAnswerTokens(bareTokens + mostTokens);
  if (leftTokens >= SMALLEST_PART_TOKENS) {
    const maxSummaryTokens = Math.min(answerTokens, part.maxSummaryTokens());
    return { tokens: Math.min(leftTokens, mostTokens), capacityTokens, maxSummaryTokens };
  }
  if (isNew && part.previousSummary !== undefined) return undefined;
  if (mostTokens === Number.POSITIVE_INFINITY) throw doesNotFit(job, bareTokens + SMALLEST_PART_TOKENS);
  return { tokens: mostTokens, capacityTokens: Number.POSITIVE_INFINITY, maxSummaryTokens: answerTokens };
}

function piecesOf(
  messages: readonly Message[],
  { limits, secrets }: SpanPart,
  estimator: TokenEstimator,
): Piece[] {
  return messages.flatMap((message) => {
    const [text] = serialise([message], limits, secrets);
    return text === undefined ? [] : [{ message, text, tokens: estimator.text(text + JOINT) }];
  });
}

/** A summary as what stands first in the conversation, in pieces that a small request can hold. */
function earlierPieces(summary: string, part: SpanPart, estimator: TokenEstimator): Piece[] {
  const chars = [...summary];
  const messages: Message[] = [];
  for (let at = 0; at < chars.length; at += EARLIER_PIECE_CHARS) {
    const slice = chars.slice(at, at + EARLIER_PIECE_CHARS).join("");
    messages.push({ role: "compactionSummary", summary: slice, tokensBefore: 0, timestamp: 0 });
  }
  return piecesOf(messages, part, estimator);
}

const EARLIER_PIECE_CHARS = 2_000;

function nextChunk(pieces: readonly Piece[], mostTokens: number, estimator: TokenEstimator): Piece[] {
  const chunk: Piece[] = [];
  let tokens = 0;
  for (const piece of pieces) {
    tokens += piece.tokens;
    if (tokens > mostTokens) break;
    chunk.push(piece);
  }
  const first = pieces[0];
  return chunk.length > 0 || first === undefined ? chunk : [shrunk(first, mostTokens, estimator)];
}

/** A message that fills more than a whole request by itself: its middle is left out. */
function shrunk(piece: Piece, mostTokens: number, estimator: TokenEstimator): Piece {
  const tokensOf = (text: string) => estimator.text(text + JOINT);
  const text = clipUntil(piece.text, (each) => tokensOf(each) <= mostTokens);
  return { ...piece, text, tokens: tokensOf(text) };
}
