import type { TokenEstimator } from "@bonsai-agent/messages";
import { summarySections } from "./sections.ts";
import type { SummaryAnswer, SummaryRequest } from "./summariser.ts";
import { SummaryFailure } from "./summary-failure.ts";

const refusal =
  /^(?:i['’]?m sorry|sorry|i (?:can(?:no|['’])t|won['’]t|am (?:unable|not able)|must decline)|as an ai\b)/i;
/** A model may miscount its own length by so much. */
const LENGTH_TOLERANCE = 1.5;

export interface CheckAnswerOptions {
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
    const limit = request.maxSummaryTokens.toLocaleString("en");
    throw new SummaryFailure(
      "too-large",
      `The summary has about ${tokens.toLocaleString("en")} tokens; ${limit} were asked for.`,
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
