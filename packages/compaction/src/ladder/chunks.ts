import type { Message, TokenEstimator } from "@bonsai-agent/messages";
import { clip } from "../plan/view.ts";
import { SummaryFailure } from "../summariser.ts";
import {
  askSummary,
  fitsWhole,
  maxSummaryTokens,
  promptTokens,
  requestCapacity,
  type Span,
  summaryRequest,
  tooLargeError,
  wholeSpan,
} from "./ask.ts";
import { type SummaryJob, type SummaryPart, serialise } from "./prompt.ts";

/** A smaller request is not worth its instructions. */
const MIN_PART_TOKENS = 100;
const JOINT = "\n\n";
/** Rounding and the joints can add a token or two. */
const ROUNDING_TOKENS = 4;

/** Half of the largest span: after a refusal, at least that span was too long. */
export function refusedPartTokens(
  { estimator, limits, secrets }: SummaryJob,
  spans: readonly Span[],
): number {
  const tokens = spans.map(({ messages }) =>
    estimator.text(serialise(messages, limits, secrets).join(JOINT)),
  );
  return Math.floor(Math.max(...tokens) / 2);
}

/**
 * Summarises a span in one request, or in chunks if it does not fit or is refused as too long.
 * @throws SummaryFailure
 */
export async function summariseSpan(job: SummaryJob, span: Span): Promise<string> {
  if (!fitsWhole(job, [span])) return summariseInChunks(job, span);
  try {
    return await askSummary(job, wholeSpan(job, span));
  } catch (error) {
    const partTokens = refusedPartTokens(job, [span]);
    if (!isTooLong(error) || partTokens < MIN_PART_TOKENS) throw error;
    return summariseInChunks(job, span, partTokens);
  }
}

/**
 * Summarises a span oldest first. Each request is as large as fits, and each summary updates the last. A part that is
 * refused as too long is halved, as often as needed.
 * @param maxPartTokens of conversation in one request, if a larger one was refused
 * @throws SummaryFailure if a smallest part fails, or any part for another reason than its length
 */
export async function summariseInChunks(
  job: SummaryJob,
  span: Span,
  maxPartTokens = Number.POSITIVE_INFINITY,
): Promise<string> {
  let progress = firstProgress(job, span, maxPartTokens);
  do {
    const chunk = nextChunk(job, span, progress);
    try {
      const summary = await askSummary(job, chunk.request);
      progress = { ...chunk.progress, summary, rest: chunk.rest };
    } catch (error) {
      progress = { ...chunk.progress, limit: halveLimit(error, chunk.tokens) };
    }
  } while (progress.rest.length > 0);
  return progress.summary ?? "";
}

/** The requests that a span needs, if each is answered with this summary. */
export function plannedChunks(job: SummaryJob, span: Span, summary: string): SummaryPart[] {
  const requests: SummaryPart[] = [];
  let progress = firstProgress(job, span);
  do {
    const { request, rest, ...chunk } = nextChunk(job, span, progress);
    requests.push(request);
    progress = { ...chunk.progress, summary, rest };
  } while (progress.rest.length > 0);
  return requests;
}

/** A message and its serialised text. */
interface Piece {
  message: Message;
  text: string;
  tokens: number;
}

/** A span with its first part summarised. */
interface Progress {
  rest: readonly Piece[];
  summary: string | undefined;
  /**
   * Maximum tokens of conversation in one request, from refusals. `isNew` until the summary so far was checked against
   * it.
   */
  limit: { maxTokens: number; isNew: boolean };
}

interface Chunk {
  request: SummaryPart;
  tokens: number;
  /** The pieces after the chunk. */
  rest: readonly Piece[];
  progress: Progress;
}

function firstProgress(job: SummaryJob, span: Span, maxTokens = Number.POSITIVE_INFINITY): Progress {
  const rest = piecesOf(job, span.messages);
  return { rest, summary: span.previousSummary, limit: { maxTokens, isNew: true } };
}

/** @throws SummaryFailure if a request has no room for conversation, and nothing was refused yet */
function nextChunk(job: SummaryJob, span: Span, given: Progress): Chunk {
  let progress = given;
  let size = partSize(job, span, progress);
  if (size === undefined) {
    // The summary so far was made for a larger window: read it in parts, too.
    const rest = [...summaryPieces(job, progress.summary ?? ""), ...progress.rest];
    progress = { rest, summary: undefined, limit: { ...progress.limit, isNew: false } };
    size = partSize(job, span, progress)!;
  }
  const { tokens: maxTokens, ...sizes } = size;
  const pieces = firstPieces(progress.rest, maxTokens, job.estimator);
  const request: SummaryPart = {
    ...span,
    messages: pieces.map((piece) => piece.message),
    conversation: () => pieces.map((piece) => piece.text).join(JOINT),
    previousSummary: progress.summary,
    ...sizes,
  };
  const tokens = pieces.reduce((sum, piece) => sum + piece.tokens, 0);
  return { request, tokens, rest: progress.rest.slice(Math.max(1, pieces.length)), progress };
}

function isTooLong(error: unknown): boolean {
  return error instanceof SummaryFailure && error.overflow;
}

/** @throws the error, unless the request was too long and the part can be smaller */
function halveLimit(error: unknown, tokens: number): Progress["limit"] {
  if (!isTooLong(error) || tokens <= MIN_PART_TOKENS) throw error;
  return { maxTokens: Math.max(MIN_PART_TOKENS, Math.floor(tokens / 2)), isNew: true };
}

/** Share of the request that an answer may take after a refusal: the next request contains the answer. */
const ANSWER_SHARE = 0.5;
/** Fewer tokens are too few for six headings. */
const MIN_ANSWER_TOKENS = 1_000;

/** The largest answer to a request of this size, after a refusal showed that the known window is wrong. */
function maxAnswerTokens(requestTokens: number): number {
  return Math.max(MIN_ANSWER_TOKENS, Math.floor(requestTokens * ANSWER_SHARE));
}

interface PartSize {
  /** Tokens of conversation. */
  tokens: number;
  /** Tokens of the whole request. */
  capacityTokens: number;
  maxSummaryTokens: number;
}

/**
 * The size of the next request, by the window that is known now, possibly from a refusal. Undefined if the summary so
 * far leaves no room. If an empty request has no room either, the refusal's number was wrong, and only halving finds a
 * size that fits.
 */
function partSize(job: SummaryJob, span: Span, { summary, limit }: Progress): PartSize | undefined {
  const { maxTokens, isNew } = limit;
  const empty = {
    ...span,
    messages: [],
    conversation: () => "",
    previousSummary: summary,
    maxSummaryTokens: 0,
  };
  const emptyTokens = promptTokens(summaryRequest(job, empty).prompt, job.estimator) + ROUNDING_TOKENS;
  const capacityTokens = requestCapacity(job.summariser);
  const leftTokens = capacityTokens - emptyTokens;
  const answerTokens = maxAnswerTokens(emptyTokens + maxTokens);
  if (leftTokens >= MIN_PART_TOKENS) {
    const maxTokensOfAnswer = maxSummaryTokens(span.kind, job.summariser, job.budgets);
    const tokens = Math.min(leftTokens, maxTokens);
    return { tokens, capacityTokens, maxSummaryTokens: Math.min(answerTokens, maxTokensOfAnswer) };
  }
  if (isNew && summary !== undefined) return undefined;
  if (maxTokens === Number.POSITIVE_INFINITY) throw tooLargeError(job, emptyTokens + MIN_PART_TOKENS);
  return { tokens: maxTokens, capacityTokens: Number.POSITIVE_INFINITY, maxSummaryTokens: answerTokens };
}

function piecesOf({ limits, secrets, estimator }: SummaryJob, messages: readonly Message[]): Piece[] {
  return messages.flatMap((message) => {
    const [text] = serialise([message], limits, secrets);
    return text === undefined ? [] : [{ message, text, tokens: estimator.text(text + JOINT) }];
  });
}

const SUMMARY_PIECE_CHARS = 2_000;

/** A summary as the first messages of the conversation, in pieces that fit a small request. */
function summaryPieces(job: SummaryJob, summary: string): Piece[] {
  const chars = [...summary];
  const messages: Message[] = [];
  for (let at = 0; at < chars.length; at += SUMMARY_PIECE_CHARS) {
    const slice = chars.slice(at, at + SUMMARY_PIECE_CHARS).join("");
    messages.push({ role: "compactionSummary", summary: slice, tokensBefore: 0, timestamp: 0 });
  }
  return piecesOf(job, messages);
}

/** The pieces that fit. A first piece that does not fit loses its middle. */
function firstPieces(pieces: readonly Piece[], maxTokens: number, estimator: TokenEstimator): Piece[] {
  let tokens = 0;
  const end = pieces.findIndex((piece) => {
    tokens += piece.tokens;
    return tokens > maxTokens;
  });
  const [first] = pieces;
  if (end !== 0 || first === undefined) return end < 0 ? [...pieces] : pieces.slice(0, end);
  const tokensOf = (text: string) => estimator.text(text + JOINT);
  let { text } = first;
  for (let chars = text.length; tokensOf(text) > maxTokens && chars > 1; ) {
    chars = Math.floor(chars / 2);
    text = clip(first.text, chars);
  }
  return [{ ...first, text, tokens: tokensOf(text) }];
}
