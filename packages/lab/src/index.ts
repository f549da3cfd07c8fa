export type { ClassTokens, SummariesBill } from "./bill.ts";
export { assumedText, labHtml, missedText, tooLargeText } from "./html.ts";
export { type Policy, policyNamed, policyOf, usualPolicies } from "./policies.ts";
export {
  type MissedPrefixes,
  missedPrefixes,
  type RecordedSummary,
  type RecordedTotals,
  type Recording,
  recordingOf,
} from "./recording.ts";
export { type Replay, type ReplayOptions, replay } from "./replay.ts";
export { compactionCount, type Day, type LabRun, type PolicyResult, playPolicies } from "./run.ts";
export type { SummarySource } from "./summaries.ts";
export { type TestedPolicy, type Tuned, type TuneOptions, tune } from "./tune.ts";
