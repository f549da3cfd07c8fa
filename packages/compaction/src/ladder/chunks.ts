import type { Message, TokenEstimator } from "@bonsai-agent/messages";
import { clip } from "../plan/view.ts";
import { SummaryFailure } from "../summariser.ts";
import {
  askSummary,
  fitsWhole,
  maxSummaryTokens,
  promptTokens,
  requestCapacity,
  summaryRequest,
  tooLargeError,
  wholeSpan,
} from "./ask.ts";
import { type Span, type SummaryJob, type SummaryPart, serialise } from "./prompt.ts";

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
  maxPartTokens?: number,
): Promise<string> {
  const parts = new Parts(job, span, maxPartTokens);
  do {
    const part = parts.next();
    try {
      parts.answered(await askSummary(job, part));
    } catch (error) {
      parts.refused(error);
    }
  } while (!parts.isDone);
  return parts.summary ?? "";
}

/** The requests that a span needs, if each is answered with this summary. */
export function plannedChunks(job: SummaryJob, span: Span, summary: string): SummaryPart[] {
  const parts = new Parts(job, span);
  const requests: SummaryPart[] = [];
  do {
    requests.push(parts.next());
    parts.answered(summary);
  } while (!parts.isDone);
  return requests;
}

/** A message and its serialised text. */
interface Piece {
  message: Message;
  text: string;
  tokens: number;
}

/** Divides a span into requests. Owner of the remaining messages and of the summary so far. */
class Parts {
  readonly #job: SummaryJob;
  readonly #span: Span;
  #rest: readonly Piece[];
  /** The pieces of the latest request. */
  #asked: readonly Piece[] = [];
  /** Maximum tokens of conversation in one request, from refusals. */
  #maxTokens: number;
  /** True until the summary so far was checked against the maximum. */
  #isMaximumNew = true;
  summary: string | undefined;

  constructor(job: SummaryJob, span: Span, maxTokens = Number.POSITIVE_INFINITY) {
    this.#job = job;
    this.#span = span;
    this.#rest = piecesOf(job, span.messages);
    this.#maxTokens = maxTokens;
    this.summary = span.previousSummary;
  }

  get isDone(): boolean {
    return this.#rest.length === 0;
  }

  /** @throws SummaryFailure if a request has no room for conversation, and nothing was refused yet */
  next(): SummaryPart {
    let size = this.#size();
    if (size === undefined) {
      // The summary so far was made for a larger window: read it in parts, too.
      this.#rest = [...summaryPieces(this.#job, this.summary ?? ""), ...this.#rest];
      this.summary = undefined;
      this.#isMaximumNew = false;
      size = this.#size()!;
    }
    const { tokens, ...sizes } = size;
    const pieces = firstPieces(this.#rest, tokens, this.#job.estimator);
    this.#asked = pieces;
    return {
      ...this.#span,
      messages: pieces.map((piece) => piece.message),
      conversation: () => pieces.map((piece) => piece.text).join(JOINT),
      previousSummary: this.summary,
      ...sizes,
    };
  }

  answered(summary: string): void {
    this.summary = summary;
    this.#rest = this.#rest.slice(Math.max(1, this.#asked.length));
  }

  /** Halves the parts. @throws the error, unless the request was too long and the part can be smaller */
  refused(error: unknown): void {
    const tokens = this.#asked.reduce((sum, piece) => sum + piece.tokens, 0);
    if (!isTooLong(error) || tokens <= MIN_PART_TOKENS) throw error;
    this.#maxTokens = Math.max(MIN_PART_TOKENS, Math.floor(tokens / 2));
    this.#isMaximumNew = true;
  }

  /**
   * The size of the next request, by the window that is known now, possibly from a refusal: tokens of conversation, and
   * of the whole request. Undefined if the summary so far leaves no room. If an empty request has no room either, the
   * refusal's number was wrong, and only halving finds a size that fits.
   */
  #size(): { tokens: number; capacityTokens: number; maxSummaryTokens: number } | undefined {
    const { summariser, estimator, budgets } = this.#job;
    const rest = { previousSummary: this.summary, maxSummaryTokens: 0 };
    const empty = { ...this.#span, messages: [], conversation: () => "", ...rest };
    const emptyTokens = promptTokens(summaryRequest(this.#job, empty).prompt, estimator) + ROUNDING_TOKENS;
    const capacityTokens = requestCapacity(summariser);
    const maxTokens = this.#maxTokens;
    // A refusal shows that the known window is wrong.
    const answerTokens = Math.max(MIN_ANSWER_TOKENS, Math.floor((emptyTokens + maxTokens) * ANSWER_SHARE));
    if (capacityTokens - emptyTokens >= MIN_PART_TOKENS) {
      const maxAnswerTokens = maxSummaryTokens(this.#span.kind, summariser, budgets);
      return {
        tokens: Math.min(capacityTokens - emptyTokens, maxTokens),
        capacityTokens,
        maxSummaryTokens: Math.min(answerTokens, maxAnswerTokens),
      };
    }
    if (this.#isMaximumNew && this.summary !== undefined) return undefined;
    if (maxTokens === Number.POSITIVE_INFINITY) throw tooLargeError(this.#job, emptyTokens + MIN_PART_TOKENS);
    return { tokens: maxTokens, capacityTokens: Number.POSITIVE_INFINITY, maxSummaryTokens: answerTokens };
  }
}

/** Share of the request that an answer may take after a refusal: the next request contains the answer. */
const ANSWER_SHARE = 0.5;
/** Fewer tokens are too few for six headings. */
const MIN_ANSWER_TOKENS = 1_000;

function isTooLong(error: unknown): boolean {
  return error instanceof SummaryFailure && error.overflow;
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
