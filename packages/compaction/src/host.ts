// Shared by Bonsai's own packages. May change in any release.
export { branchWords } from "./branch/branch.ts";
export type { BranchSide } from "./branch/diff.ts";
export type { NavigateTreeOptions } from "./branch/navigate.ts";
export type { RungName } from "./carry/details.ts";
export { FileOperationCounter } from "./carry/files.ts";
export type { SummaryLoss } from "./carry/loss-text.ts";
export { pinnedSoon } from "./carry/pins.ts";
export {
  readSummarySources,
  type SourcesProgress,
  type SummaryLine,
  SummarySources,
} from "./carry/sources.ts";
export type { SummaryEntry } from "./carry/summarised-span.ts";
export type { CompactionLifecycle } from "./events.ts";
export type { BackgroundChange, BackgroundCounts } from "./flow/background.ts";
export type { CompactionSite } from "./flow/controller.ts";
export { type CompactionSteps, stepsText } from "./flow/outcome.ts";
export { sizeBeforeText } from "./flow/result-text.ts";
export { serialise } from "./ladder/conversation.ts";
export { type CutPlace, cutRefusal } from "./plan/chosen-cut.ts";
export { cutIndex } from "./plan/cut.ts";
export { type ContextLimit, dailySaving } from "./plan/economy.ts";
export { originalProjection } from "./plan/originals.ts";
export { contradictedSizes } from "./plan/recorded-calibration.ts";
export { type ContextSize, contextSizeOf } from "./plan/sizes.ts";
export { countAhead } from "./plan/tokens.ts";
export { commandRuns } from "./record/command-runs.ts";
export type { CompactionPolicy } from "./settings.ts";
