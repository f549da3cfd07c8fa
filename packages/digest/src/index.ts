export { type Closing, clippedClosings, closingLine } from "./closings.ts";
export { type CommandRun, commandRuns } from "./command-runs.ts";
export { type DigestOptions, digestText, isDigest, lastAnswer, outcomeLines } from "./digest.ts";
export { checkLoss, type LossCheck, type LossCount, type LossReport } from "./loss.ts";
export {
  emptyRecord,
  type RecordedMessage,
  recordAfter,
  type SpanRecord,
  storedClosings,
  storedRecord,
} from "./record.ts";
export { contentWords, termsIn, textsIn } from "./sentence.ts";
export { type SourceMessage, summaryProse } from "./source.ts";
export { termLines } from "./terms.ts";
export { clippedWords, type SaidMessage, type UserWords, wordLines } from "./words.ts";
