export {
  type CommandRun,
  commandRuns,
  type LossCount,
  type LossReport,
  type SaidMessage,
  type SpanRecord,
} from "@bonsai-agent/digest";
export type { BackgroundChange, BackgroundCounts } from "./background.ts";
export { branchWords } from "./branch.ts";
export { type BranchDiff, type BranchSide, branchDiff } from "./branch-diff.ts";
export { type BranchSummary, type SummariseEntriesOptions, summariseEntries } from "./branch-summary.ts";
export { budgetsFor, type ModelSizes, thresholdTokens } from "./budget.ts";
export type { ExtensionCarryOver } from "./carry-over.ts";
export { type CutOptions, type CutPlace, type CutRefusal, cutPlaces, cutRefusal } from "./chosen-cut.ts";
export {
  CompactionController,
  type CompactionSite,
  type ControllerOptions,
  type ManualCompaction,
} from "./controller.ts";
export { cutIndex, startsTurn } from "./cut.ts";
export type { CompactionDraft, ReviewCompaction, ReviewDecision } from "./draft.ts";
export {
  type ContextLimit,
  type ContextLimitOptions,
  contextLimit,
  type DailySaving,
  dailySaving,
} from "./economy.ts";
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
export { FileOperationCounter, type FileOperations, fileOperations } from "./files.ts";
export {
  type HiddenEntry,
  hiddenEntries,
  hiddenEntry,
  hiddenLookup,
  hidesEntries,
  recallableEntry,
} from "./hidden.ts";
export { lossLines, type SummaryLoss, summaryLoss } from "./loss-text.ts";
export { type BranchMerge, type MergeBranchOptions, mergeBranch } from "./merge-branch.ts";
export { type NavigateTreeOptions, type Navigation, navigateTree } from "./navigate-tree.ts";
export { originalProjection } from "./originals.ts";
export {
  type CarriedCounts,
  type CompactionManifest,
  type CompactionOutcome,
  type CompactionReason,
  type CompactionSteps,
  manifestOf,
  type RungName,
  sizeBeforeText,
  stepsText,
} from "./outcome.ts";
export { pinMessage, pinnedSoon, pinnedTexts, unpinMessage } from "./pins.ts";
export { type PlanCompactionOptions, planCompaction } from "./plan-compaction.ts";
export type { RunCompactionOptions } from "./prepare-run.ts";
export { type ContradictedSize, contradictedSizes } from "./recorded-calibration.ts";
export type { Refusal } from "./refusal.ts";
export type { CompactionResult, CompactionStatus, PlannedRequest } from "./result.ts";
export { runCompaction } from "./run.ts";
export { serialise } from "./serialise.ts";
export {
  type CompactionPolicy,
  type CompactionPreset,
  type CompactionSettings,
  type CompactionSettingsInput,
  compactionPresets,
  compactionSettings,
  compactionSettingsSchema,
  type PresetName,
  parseSettings,
  settingDescription,
} from "./settings.ts";
export type { FileChange, ReadSkill } from "./skills.ts";
export {
  readSummarySources,
  type SourcesProgress,
  type SummaryLine,
  SummarySources,
  summarySources,
} from "./sources.ts";
export {
  type SummarisePreparationOptions,
  summarisePreparation,
} from "./summarise-preparation.ts";
export type { SummaryEntry } from "./summarised-span.ts";
export {
  digestSummariser,
  type Summariser,
  type SummaryAnswer,
  type SummaryKind,
  type SummaryRequest,
  summarySections,
} from "./summariser.ts";
export {
  type ContextReading,
  countAhead,
  type ReadContextOptions,
  readContext,
} from "./tokens.ts";
export {
  type CompactionSizes,
  type ContextSize,
  contextSizeOf,
  MASK_PLACEHOLDER,
} from "./view.ts";
