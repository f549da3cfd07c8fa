export { MASK_PLACEHOLDER } from "@bonsai-agent/session/host";
export { type BranchDiff, branchDiff } from "./branch/diff.ts";
export { type BranchMerge, mergeBranch } from "./branch/merge.ts";
export { type Navigation, navigateTree } from "./branch/navigate.ts";
export { summariseEntries } from "./branch/summary.ts";
export { lossLines, summaryLoss } from "./carry/loss-text.ts";
export { pinMessage, pinnedTexts, unpinMessage } from "./carry/pins.ts";
export { summarySources } from "./carry/sources.ts";
export { type CompactionManifest, type CompactionReason, manifestOf } from "./details.ts";
export {
  type BeforeCompact,
  type BeforeCompactResult,
  type CompactionEvents,
  type CompactionPreparation,
  type CustomCompaction,
  compactionEventRules,
} from "./events.ts";
export { runCompaction } from "./flow/compaction.ts";
export { CompactionController, type ControllerOptions, type ManualCompaction } from "./flow/controller.ts";
export type { CompactionDraft, ReviewCompaction, ReviewDecision } from "./flow/draft.ts";
export { planCompaction } from "./flow/dry-run.ts";
export type { CompactionOutcome } from "./flow/outcome.ts";
export type { RunCompactionOptions } from "./flow/prepare.ts";
export type { CompactionResult } from "./flow/result.ts";
export { summarisePreparation } from "./ladder/summarise-preparation.ts";
export { cutPlaces } from "./plan/chosen-cut.ts";
export { startsTurn } from "./plan/cut.ts";
export { contextLimit } from "./plan/economy.ts";
export { budgetsFor, type ModelSizes, thresholdTokens } from "./plan/limits.ts";
export { type ContextReading, readContext } from "./plan/tokens.ts";
export { fileOperations } from "./record/file-operations.ts";
export {
  type CompactionSettings,
  type CompactionSettingsInput,
  compactionPresets,
  compactionSettings,
  compactionSettingsSchema,
} from "./settings.ts";
export {
  digestSummariser,
  type Summariser,
  type SummaryAnswer,
  type SummaryKind,
  type SummaryRequest,
  summarySections,
} from "./summariser.ts";
