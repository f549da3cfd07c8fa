export { MASK_PLACEHOLDER } from "@bonsai-agent/session/host";
export { branchWords } from "./branch/branch.ts";
export { type BranchDiff, type BranchSide, branchDiff } from "./branch/diff.ts";
export { type BranchMerge, type MergeBranchOptions, mergeBranch } from "./branch/merge.ts";
export { type NavigateTreeOptions, type Navigation, navigateTree } from "./branch/navigate.ts";
export {
  type BranchSummary,
  type SummariseEntriesOptions,
  summariseEntries,
} from "./branch/summary.ts";
export type { ExtensionCarryOver } from "./carry/carry-over.ts";
export {
  type CarriedCounts,
  type CompactionManifest,
  type CompactionReason,
  manifestOf,
  type RungName,
} from "./carry/details.ts";
export { FileOperationCounter, type FileOperations, fileOperations } from "./carry/files.ts";
export type { LossCount, LossReport } from "./carry/loss.ts";
export { lossLines, type SummaryLoss, summaryLoss } from "./carry/loss-text.ts";
export { pinMessage, pinnedSoon, pinnedTexts, unpinMessage } from "./carry/pins.ts";
export {
  readSummarySources,
  type SourcesProgress,
  type SummaryLine,
  SummarySources,
  summarySources,
} from "./carry/sources.ts";
export type { SummaryEntry } from "./carry/summarised-span.ts";
export {
  type BackgroundState,
  type BeforeCompact,
  type BeforeCompactResult,
  type CompactionEvents,
  type CompactionLifecycle,
  type CompactionPreparation,
  type CustomCompaction,
  compactionEventRules,
  type TreePreparation,
} from "./events.ts";
export type { BackgroundChange, BackgroundCounts } from "./flow/background.ts";
export { runCompaction } from "./flow/compaction.ts";
export {
  CompactionController,
  type CompactionSite,
  type ControllerOptions,
  type ManualCompaction,
} from "./flow/controller.ts";
export type { CompactionDraft, ReviewCompaction, ReviewDecision } from "./flow/draft.ts";
export { type PlanCompactionOptions, planCompaction } from "./flow/dry-run.ts";
export {
  type CompactionOutcome,
  type CompactionStatus,
  type CompactionSteps,
  stepsText,
} from "./flow/outcome.ts";
export type { RunCompactionOptions } from "./flow/prepare.ts";
export type { CompactionResult, PlannedRequest } from "./flow/result.ts";
export { sizeBeforeText } from "./flow/result-text.ts";
export { serialise } from "./ladder/conversation.ts";
export {
  type SummarisePreparationOptions,
  summarisePreparation,
} from "./ladder/summarise-preparation.ts";
export { type CutOptions, type CutPlace, type CutRefusal, cutPlaces, cutRefusal } from "./plan/chosen-cut.ts";
export { cutIndex, startsTurn } from "./plan/cut.ts";
export {
  type ContextLimit,
  type ContextLimitOptions,
  contextLimit,
  type DailySaving,
  dailySaving,
} from "./plan/economy.ts";
export type { Refusal } from "./plan/limits.ts";
export { budgetsFor, type ModelSizes, thresholdTokens } from "./plan/limits.ts";
export { originalProjection } from "./plan/originals.ts";
export { type ContradictedSize, contradictedSizes } from "./plan/recorded-calibration.ts";
export {
  type CompactionSizes,
  type ContextSize,
  contextSizeOf,
} from "./plan/sizes.ts";
export {
  type ContextReading,
  countAhead,
  type ReadContextOptions,
  readContext,
} from "./plan/tokens.ts";
export { type CommandRun, commandRuns } from "./record/command-runs.ts";
export type { SpanRecord } from "./record/record.ts";
export type { SaidMessage } from "./record/words.ts";
export {
  type CompactionPolicy,
  type CompactionPreset,
  type CompactionSettings,
  type CompactionSettingsInput,
  compactionPresets,
  compactionSettings,
  compactionSettingsSchema,
  type PresetName,
} from "./settings.ts";
export {
  digestSummariser,
  type Summariser,
  type SummaryAnswer,
  type SummaryKind,
  type SummaryRequest,
  summarySections,
} from "./summariser.ts";
