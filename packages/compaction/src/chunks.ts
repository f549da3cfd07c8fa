import type { Message, TokenEstimator } from "@bonsai-agent/messages";
import { askSummary, doesNotFit, promptTokens, type SummaryJob, summaryRequest } from "./ask-summary.ts";
import { clip } from "./clip.ts";
import { serialise } from "./serialise.ts";
import type { CompactionSettings } from "./settings-schema.ts";
import type { SummaryKind } from "./summariser.ts";
import { requestCapacity } from "./summary-sizes.ts";

/** Below this there is no room to read anything worth a request. */
const MINIMUM_CHUNK_TOKENS = 100;
const JOINT = "\n\n";

/** One of the two spans of a plan, ready to be asked for. */
export interface SpanPart {
  kind: SummaryKind;
  messages: readonly Message[];
  following?: readonly Message[] | undefined;
  previousSummary: string | undefined;
  maxSummaryTokens: number;
  limits: CompactionSettings["serialize"];
}

/** A message and its serialised text. */
interface Piece {
  message: Message;
  text: string;
  tokens: number;
}

/** Summarises oldest first, each request as large as fits, each summary updating the last. */
export async function summariseInChunks(job: SummaryJob, part: SpanPart): Promise<string> {
  const pieces = piecesOf(part, job.estimator);
  let previousSummary = part.previousSummary;
  for (let start = 0; start < pieces.length || start === 0; ) {
    const chunk = nextChunk(pieces, start, chunkTokens(job, part, previousSummary), job.estimator);
    previousSummary = await askSummary(job, {
      ...part,
      messages: chunk.map((piece) => piece.message),
      conversation: chunk.map((piece) => piece.text).join(JOINT),
      previousSummary,
    });
    start += Math.max(1, chunk.length);
  }
  return previousSummary ?? "";
}

function piecesOf(part: SpanPart, estimator: TokenEstimator): Piece[] {
  return part.messages.flatMap((message) => {
    const [text] = serialise([message], part.limits);
    return text === undefined ? [] : [{ message, text, tokens: estimator.text(text + JOINT) }];
  });
}

/** The tokens of conversation that one request has room for, beside its instructions and the previous summary. */
function chunkTokens(job: SummaryJob, part: SpanPart, previousSummary: string | undefined): number {
  const bare = summaryRequest(job, { ...part, messages: [], conversation: "", previousSummary });
  const bareTokens = promptTokens(bare.prompt, job.estimator);
  // Rounding and the joints may add a token or two.
  const room = requestCapacity(job.summariser) - bareTokens - 4;
  if (room < MINIMUM_CHUNK_TOKENS) throw doesNotFit(job, bareTokens + MINIMUM_CHUNK_TOKENS);
  // A summariser without a limit that found the whole too long gets it in quarters.
  return room === Number.POSITIVE_INFINITY ? quarter(part, job.estimator) : room;
}

function quarter(part: SpanPart, estimator: TokenEstimator): number {
  const total = piecesOf(part, estimator).reduce((sum, piece) => sum + piece.tokens, 0);
  return Math.max(MINIMUM_CHUNK_TOKENS, Math.ceil(total / 4));
}

function nextChunk(
  pieces: readonly Piece[],
  start: number,
  room: number,
  estimator: TokenEstimator,
): Piece[] {
  const chunk: Piece[] = [];
  let tokens = 0;
  for (const piece of pieces.slice(start)) {
    tokens += piece.tokens;
    if (tokens > room) break;
    chunk.push(piece);
  }
  const first = pieces[start];
  return chunk.length > 0 || first === undefined ? chunk : [shrunk(first, room, estimator)];
}

/** A message that fills more than a whole request by itself: its middle is left out. */
function shrunk(piece: Piece, room: number, estimator: TokenEstimator): Piece {
  let text = piece.text;
  for (let chars = text.length; estimator.text(text + JOINT) > room && chars > 1; ) {
    chars = Math.floor(chars / 2);
    text = clip(piece.text, chars);
  }
  return { ...piece, text, tokens: estimator.text(text + JOINT) };
}
