export { MASK_PLACEHOLDER } from "@bonsai-agent/session/host";
export { type BranchMerge, mergeBranch, type Navigation, navigateTree } from "./branch/branch.ts";
export { branchDiff } from "./branch/diff.ts";
export { summariseEntries } from "./branch/summary.ts";
export { lossLines, summaryLoss } from "./carry/loss.ts";
export { pinMessage, pinnedTexts, unpinMessage } from "./carry/pins.ts";
export { summarySources } from "./carry/sources.ts";
export { type CompactionReason, manifestOf } from "./details.ts";
export {
  type CompactionEvents,
  type CompactionOutcome,
  type CompactionPreparation,
  type CustomCompaction,
  compactionEventRules,
} from "./events.ts";
export { planCompaction, runCompaction } from "./flow/compaction.ts";
export { CompactionController, type ManualCompaction } from "./flow/controller.ts";
export type { CompactionResult } from "./flow/result.ts";
export type { CompactionDraft, ReviewCompaction, ReviewDecision } from "./flow/review.ts";
export { redoLatestUndo, type UndoReport, undoLatestCompaction } from "./flow/undo.ts";
export { digestSummariser } from "./ladder/digest-summariser.ts";
export { summarisePreparation } from "./ladder/preparation.ts";
export { readContext } from "./plan/context.ts";
export { cutPlaces, startsTurn } from "./plan/cut.ts";
export {
  budgetsFor,
  contextLimit,
  type ModelSizes,
  settingsForModel,
  thresholdTokens,
} from "./plan/limits.ts";
export { fileOperations } from "./record/file-operations.ts";
export {
  type CompactionSettings,
  type CompactionSettingsInput,
  compactionPresets,
  compactionSettings,
  compactionSettingsSchema,
} from "./settings.ts";
export {
  type Summariser,
  type SummaryAnswer,
  type SummaryRequest,
  summarySections,
} from "./summariser.ts";
