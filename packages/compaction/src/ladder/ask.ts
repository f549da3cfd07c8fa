import {
  addUsage,
  emptyUsage,
  messageOf,
  redactSecrets,
  type TokenEstimator,
  textHead,
  type Usage,
} from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { count as digits, tokensText } from "@bonsai-agent/messages/numbers";
import { strippedSummary } from "../carry/carry-over.ts";
import type { Budgets } from "../plan/limits.ts";
import {
  type Summariser,
  type SummaryAnswer,
  SummaryFailure,
  type SummaryKind,
  type SummaryRequest,
  summarySections,
} from "../summariser.ts";
import {
  type Span,
  type SummaryJob,
  type SummaryPart,
  serialise,
  summaryInstruction,
  summaryPrompt,
} from "./prompt.ts";

/** The sizes of a summariser's model. */
export type SummariserSizes = Pick<Summariser, "contextWindow" | "maxOutputTokens">;

/** Largest answers to ask for, as shares of the reserve. */
const RESERVE_SHARE: Record<SummaryKind, number> = { history: 0.8, turnPrefix: 0.5, branch: 0.25 };
/** A small summariser needs most of its window for the request. */
const WINDOW_SHARE = 0.25;

/** The largest answer to ask a summariser for, in tokens. */
export function maxSummaryTokens(kind: SummaryKind, summariser: SummariserSizes, budgets: Budgets): number {
  const { contextWindow, maxOutputTokens } = summariser;
  return Math.floor(
    Math.min(
      budgets.reserveTokens * RESERVE_SHARE[kind],
      maxOutputTokens || Number.POSITIVE_INFINITY,
      contextWindow ? contextWindow * WINDOW_SHARE : Number.POSITIVE_INFINITY,
    ),
  );
}

/** Maximum tokens of a request to a summariser: its window minus its output limit. */
export function requestCapacity(summariser: SummariserSizes): number {
  const { contextWindow, maxOutputTokens = 0 } = summariser;
  if (!contextWindow) return Number.POSITIVE_INFINITY;
  const outputTokens = Math.max(Math.min(maxOutputTokens, contextWindow / 2), contextWindow * WINDOW_SHARE);
  return Math.floor(contextWindow - outputTokens);
}

/** The request for a whole span. */
export function wholeSpan(job: SummaryJob, span: Span, maxTokens = Number.POSITIVE_INFINITY): SummaryPart {
  return {
    ...span,
    isWhole: true,
    conversation: () => serialise(span.messages, job.limits, job.secrets).join("\n\n"),
    maxSummaryTokens: Math.min(maxSummaryTokens(span.kind, job.summariser, job.budgets), maxTokens),
  };
}

/** True if one request for each span fits the summariser. */
export function fitsWhole(job: SummaryJob, spans: readonly Span[]): boolean {
  const capacity = requestCapacity(job.summariser);
  if (capacity === Number.POSITIVE_INFINITY) return true;
  return spans.every((span) => {
    const { prompt } = summaryRequest(job, wholeSpan(job, span));
    return promptTokens(prompt, job.estimator) <= capacity;
  });
}

/**
 * Asks for one summary.
 * @throws SummaryFailure when the request does not fit, the summariser fails, or its answer is no summary.
 */
export async function askSummary(job: SummaryJob, part: SummaryPart): Promise<string> {
  const request = summaryRequest(job, part);
  const capacity = part.capacityTokens ?? requestCapacity(job.summariser);
  const tokens = capacity === Number.POSITIVE_INFINITY ? 0 : promptTokens(request.prompt, job.estimator);
  if (tokens > capacity) throw tooLargeError(job, tokens);
  const answer = await answerOf(job, request);
  if (job.signal.aborted) throw new SummaryFailure("aborted", "The summary was cancelled.");
  const { isExtract } = job.summariser;
  const expectSections = job.instructions === undefined && isExtract !== true;
  const prose = validateAnswer(request, answer, { estimator: job.estimator, expectSections, isExtract });
  return redactSecrets(strippedSummary(prose, job.echoedTags));
}

/** The tokens of a request's text, by estimate. */
export function promptTokens(prompt: SummaryRequest["prompt"], estimator: TokenEstimator): number {
  return estimator.text(prompt.system) + estimator.text(prompt.user);
}

export function summaryRequest(job: SummaryJob, part: SummaryPart): SummaryRequest {
  const { kind, messages, following, previousSummary, isWhole, maxSummaryTokens } = part;
  const { focus, mayUseContext, record, carriesUserWords, signal } = job;
  let prompt: SummaryRequest["prompt"] | undefined;
  return {
    kind,
    messages,
    following,
    previousSummary,
    focus,
    // Built on first use: a digest does not need it, and it can be as long as the context.
    get prompt() {
      prompt ??= summaryPrompt(job, part);
      return prompt;
    },
    ...(record && { record }),
    ...(carriesUserWords && { carriesUserWords }),
    ...((job.kind === "text" || job.kind === "cached") && { way: job.kind }),
    ...(mayUseContext && isWhole && { instruction: summaryInstruction(job, part) }),
    maxSummaryTokens,
    signal,
  };
}

async function answerOf(job: SummaryJob, request: SummaryRequest): Promise<SummaryAnswer> {
  try {
    const answer = await raceAbort(job.summariser.summarise(request), job.signal);
    job.cost.addRequest(answer.usage);
    return answer;
  } catch (cause) {
    job.cost.addRequest(undefined);
    if (job.signal.aborted) throw new SummaryFailure("aborted", "The summary was cancelled.", { cause });
    throw new SummaryFailure("error", messageOf(cause), { cause });
  }
}

export function tooLargeError(job: SummaryJob, tokens: number): SummaryFailure {
  const can = `${job.summariser.name} can read ${digits(requestCapacity(job.summariser))} tokens`;
  return new SummaryFailure("does-not-fit", `${can}, but the request has ${tokensText(tokens, true)}.`);
}

const refusal =
  /^(?:i['’]?m sorry|sorry|i (?:can(?:no|['’])t|won['’]t|am (?:unable|not able)|must decline)|as an ai\b)/i;
/** Models miscount the length of their answers by up to this factor. */
const LENGTH_TOLERANCE = 1.5;

/**
 * Returns the answer's text if it is usable as a summary.
 * @param how.expectSections false if custom instructions replaced ours
 * @param how.isExtract true for a summary of quotes, which may contain any tag
 * @throws SummaryFailure for an answer that is empty, refuses, calls tools, was cut off, or lacks its sections.
 */
export function validateAnswer(
  request: SummaryRequest,
  answer: SummaryAnswer,
  how: { estimator: TokenEstimator; expectSections?: boolean; isExtract?: boolean | undefined },
): string {
  const { estimator, expectSections = true, isExtract = false } = how;
  checkStop(answer);
  const text = isExtract ? answer.text.trim() : withoutThinking(answer.text);
  if (text === "") {
    const isEmpty = answer.text.trim() === "";
    const sent = isEmpty ? "an empty answer" : "only thinking or tool calls, and no summary";
    throw new SummaryFailure("empty", `The summariser sent ${sent}.`);
  }
  if (expectSections) checkSections(text, request);
  // An extract limits itself. The model may count more tokens in it; the ladder compares the whole context.
  const tokens = isExtract ? 0 : estimator.text(text);
  if (tokens > request.maxSummaryTokens * LENGTH_TOLERANCE) {
    const size = `${tokensText(tokens, true)} instead of at most ${digits(request.maxSummaryTokens)}`;
    throw new SummaryFailure("too-large", `The summary is too long: ${size}.`);
  }
  return text;
}

/** Tags that are no content in notes: thinking, analysis and attempted tool calls. */
const NOTE_TAGS =
  "(?:seed:)?think(?:ing)?|thoughts?|analysis|reasoning|reflection|scratchpad|tool_calls?|function_calls?|tool_use|invoke";
const LEADING_BLOCK = new RegExp(
  `^\\s*(?:<(${NOTE_TAGS})\\b[^>]{0,200}>[\\s\\S]*?(?:<\\/\\1>|$)|\\[think\\][\\s\\S]*?(?:\\[\\/think\\]|$)|◁think▷[\\s\\S]*?(?:◁\\/think▷|$)|<\\/(?:${NOTE_TAGS})>)`,
  "i",
);
const BLOCK_INSIDE = new RegExp(
  `^[ \\t]*<(${NOTE_TAGS})\\b[^>\\n]{0,200}>[\\s\\S]*?(?:<\\/\\1>|(?![\\s\\S]))[ \\t]*\\n?`,
  "gim",
);
const NOTE_END = new RegExp(
  `(?:^|\\n)[ \\t]*(?:<\\/(?:${NOTE_TAGS})>|\\[\\/think\\]|◁\\/think▷)|(?:<\\/(?:${NOTE_TAGS})>|\\[\\/think\\]|◁\\/think▷)[ \\t]*(?:\\n|$|(?=#))`,
  "gi",
);

const NOTE_OPENER = new RegExp(`<(?:${NOTE_TAGS})\\b|\\[think\\]|◁think▷`, "i");

/** Removes thinking and attempted tool calls from a model's notes. The result may be empty. */
export function withoutThinking(notes: string): string {
  let text = notes;
  for (let block = LEADING_BLOCK.exec(text); block !== null; block = LEADING_BLOCK.exec(text))
    text = text.slice(block[0].length);
  // Inside a block of code the tags are quoted.
  if (!/^ {0,3}(?:```|~~~)/m.test(text)) text = text.replaceAll(BLOCK_INSIDE, "");
  const opener = text.search(NOTE_OPENER);
  const last = [...text.matchAll(NOTE_END)].findLast(({ index }) => opener < 0 || index < opener);
  return (last === undefined ? text : text.slice(last.index + last[0].length)).trim();
}

function checkStop({ stopReason, errorMessage, overflow }: SummaryAnswer): void {
  switch (stopReason) {
    case "stop":
      return;
    case "length":
      throw new SummaryFailure("length", "The summary was cut off at the output limit.");
    case "toolUse":
      throw new SummaryFailure("tool-call", "The summariser called a tool instead of answering.");
    case "aborted":
      throw new SummaryFailure("aborted", "The summary was cancelled.");
    default:
      throw new SummaryFailure("error", errorMessage ?? "The summariser failed without an error message.", {
        overflow: overflow ?? false,
      });
  }
}

/** The words of a heading, without trailing marks; empty for other lines. */
function headingIn(line: string): string[] {
  const [mark] = /^#{1,6}\s+/.exec(line) ?? [];
  const words = mark === undefined ? "" : line.slice(mark.length).replace(/(?<![\s:*])[\s:*]+$/, "");
  return words === "" ? [] : [words.toLowerCase()];
}

/**
 * Accepts a summary without some headings, because models leave out empty ones. "Goal" and three others are required.
 */
function checkSections(text: string, request: SummaryRequest): void {
  const headings = new Set(text.split("\n").flatMap(headingIn));
  const asked = summarySections[request.kind];
  const found = asked.filter((heading) => headings.has(heading.toLowerCase()));
  const enough = request.kind === "turnPrefix" ? headings.size > 0 : found.length >= 4 && found[0] === "Goal";
  if (enough) return;
  if (refusal.test(text))
    throw new SummaryFailure("refused", `The summariser refused: ${textHead(text, 200)}`);
  const missing = asked.filter((heading) => !found.includes(heading));
  throw new SummaryFailure("no-sections", `Sections are missing from the summary: ${missing.join(", ")}.`);
}

/** Adds up the summary requests of a compaction, with those that failed or were discarded. */
export class RunCost {
  requests = 0;
  usage: Usage | undefined;

  /** Counts one request, whose usage can be unknown. */
  addRequest(usage: Usage | undefined): void {
    this.requests += 1;
    this.addUsage(usage);
  }

  /** Adds the cost of an extension's own summary, which counts as no request. */
  addUsage(usage: Usage | undefined): void {
    if (usage !== undefined) this.usage = addUsage(this.usage ?? emptyUsage(), usage);
  }

  include({ requests, usage }: RunCost): void {
    this.requests += requests;
    this.addUsage(usage);
  }

  /** US dollars; null if the cost of a request is unknown. */
  usd({ isFree = false }: Pick<Summariser, "isFree"> = {}): number | null {
    const usd = this.usage?.cost.total ?? 0;
    const isUnknown = this.usage?.isUncounted === true || (usd === 0 && this.requests > 0);
    return isUnknown && !isFree ? null : usd;
  }
}
