import type { TokenEstimator } from "@bonsai-agent/messages";
import { requestCapacity } from "./budget.ts";
import { strippedSummary } from "./marks.ts";
import { digits, messageOf } from "./outcome.ts";
import { type SummaryJob, type SummaryPart, summaryInstruction, summaryPrompt } from "./prompts.ts";
import { type SummaryAnswer, SummaryFailure, type SummaryRequest, summarySections } from "./summariser.ts";

/**
 * Asks for one summary.
 * @throws SummaryFailure when the request does not fit, the summariser fails, or its answer is no summary.
 */
export async function askSummary(job: SummaryJob, part: SummaryPart): Promise<string> {
  const request = summaryRequest(job, part);
  const capacity = part.capacityTokens ?? requestCapacity(job.summariser);
  const tokens = capacity === Number.POSITIVE_INFINITY ? 0 : promptTokens(request.prompt, job.estimator);
  if (tokens > capacity) throw doesNotFit(job, tokens);
  const answer = await answerOf(job, request);
  if (job.signal.aborted) throw new SummaryFailure("aborted", "The summary was aborted.");
  const expectSections = job.instructions === undefined;
  const prose = checkedAnswer({ request, answer, estimator: job.estimator, expectSections });
  return strippedSummary(prose, job.echoedTags);
}

/** The tokens of a request's text, by estimate. */
export function promptTokens(prompt: SummaryRequest["prompt"], estimator: TokenEstimator): number {
  return estimator.text(prompt.system) + estimator.text(prompt.user);
}

export function summaryRequest(job: SummaryJob, part: SummaryPart): SummaryRequest {
  const { kind, messages, following, previousSummary, isWhole, maxSummaryTokens } = part;
  const { focus, mayUseContext, signal } = job;
  let prompt: SummaryRequest["prompt"] | undefined;
  return {
    kind,
    messages,
    following,
    previousSummary,
    focus,
    // A digest has no use for it, and of a long context it is as long as all of that.
    get prompt() {
      prompt ??= summaryPrompt(job, part);
      return prompt;
    },
    ...(mayUseContext && isWhole && { instruction: summaryInstruction(job, part) }),
    maxSummaryTokens,
    signal,
  };
}

async function answerOf(job: SummaryJob, request: SummaryRequest): Promise<SummaryAnswer> {
  try {
    const answer = await untilAborted(job.summariser.summarise(request), job.signal);
    job.onUsage(answer.usage);
    return answer;
  } catch (cause) {
    job.onUsage(undefined);
    if (job.signal.aborted) throw new SummaryFailure("aborted", "The summary was aborted.", { cause });
    throw new SummaryFailure("error", messageOf(cause), { cause });
  }
}

/** A summariser that ignores the signal must not hold up whoever pressed Esc. */
function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Error("aborted"));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

export function doesNotFit(job: SummaryJob, tokens: number): SummaryFailure {
  const capacity = digits(requestCapacity(job.summariser));
  return new SummaryFailure(
    "does-not-fit",
    `A request of ${digits(tokens)} tokens does not fit the ${capacity} that ${job.summariser.name} can read.`,
  );
}

const refusal =
  /^(?:i['’]?m sorry|sorry|i (?:can(?:no|['’])t|won['’]t|am (?:unable|not able)|must decline)|as an ai\b)/i;
/** A model may miscount its own length by so much. */
const LENGTH_TOLERANCE = 1.5;

interface CheckAnswerOptions {
  request: SummaryRequest;
  answer: SummaryAnswer;
  estimator: TokenEstimator;
  /** False where own instructions took the place of ours. Default true. */
  expectSections?: boolean;
}

/**
 * The answer's text, if it can stand as a summary.
 * @throws SummaryFailure for an answer that is empty, refuses, calls tools, was cut off, or lacks its sections.
 */
export function checkedAnswer(options: CheckAnswerOptions): string {
  const { answer, request } = options;
  checkStop(answer);
  const text = answer.text.trim();
  if (text === "") throw new SummaryFailure("empty", "The summariser answered nothing.");
  if (options.expectSections ?? true) checkSections(text, request);
  const tokens = options.estimator.text(text);
  if (tokens > request.maxSummaryTokens * LENGTH_TOLERANCE) {
    const limit = digits(request.maxSummaryTokens);
    throw new SummaryFailure(
      "too-large",
      `The summary has about ${digits(tokens)} tokens; ${limit} were asked for.`,
    );
  }
  return text;
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
      throw new SummaryFailure("aborted", "The summary was aborted.");
    default:
      throw new SummaryFailure("error", errorMessage ?? "The summariser failed without a message.", {
        overflow: overflow ?? false,
      });
  }
}

/** The words of a line that is a heading, without what stands behind them. */
function headingIn(line: string): string[] {
  const [mark] = /^#{1,6}\s+/.exec(line) ?? [];
  const words = mark === undefined ? "" : line.slice(mark.length).replace(/(?<![\s:*])[\s:*]+$/, "");
  return words === "" ? [] : [words.toLowerCase()];
}

/** A model may leave out a heading that has nothing, but not the ones that the work goes on from. */
function checkSections(text: string, request: SummaryRequest): void {
  const headings = new Set(text.split("\n").flatMap(headingIn));
  const asked = summarySections[request.kind];
  const found = asked.filter((heading) => headings.has(heading.toLowerCase()));
  const enough = request.kind === "turnPrefix" ? headings.size > 0 : found.length >= 4 && found[0] === "Goal";
  if (enough) return;
  if (refusal.test(text))
    throw new SummaryFailure("refused", `The summariser refused: ${text.slice(0, 200)}`);
  const missing = asked.filter((heading) => !found.includes(heading));
  throw new SummaryFailure("no-sections", `The summary lacks the sections ${missing.join(", ")}.`);
}
