export { type Budgets, budgetsFor, type ModelSizes } from "./budget.ts";
export type { RunCompactionOptions } from "./compaction-options.ts";
export { type CompactionResult, type CompactionStatus, outcomeOf } from "./compaction-result.ts";
export { type ReadContextOptions, readContext } from "./context-meter.ts";
export {
  type CompactionSizes,
  type ContextSize,
  type ContextSizeOptions,
  contextSizeOf,
} from "./context-size.ts";
export { MASK_PLACEHOLDER } from "./context-view.ts";
export { CompactionController, type CompactionSite, type ControllerOptions } from "./controller.ts";
export { type DigestOptions, digestSummariser } from "./digest.ts";
export {
  countAhead,
  type SessionEstimate,
  type SessionEstimateOptions,
  sessionEstimate,
} from "./estimator.ts";
export {
  type BeforeCompact,
  type BeforeCompactResult,
  type CompactionEvents,
  type CompactionLifecycle,
  type CompactionPreparation,
  type CustomCompaction,
  compactionEventRules,
  type TreePreparation,
} from "./events.ts";
export type { PlannedRequest } from "./expected-summary.ts";
export type { ExtensionCarryOver } from "./extension-carry-over.ts";
export { FileOperationCounter, type FileOperations, fileOperations } from "./file-operations.ts";
export { type CompactionManifest, manifestOf } from "./manifest.ts";
export { type NavigateTreeOptions, type Navigation, navigateTree } from "./navigate-tree.ts";
export {
  type CompactionOutcome,
  type CompactionReason,
  type CompactionSteps,
  stepsText,
} from "./outcome.ts";
export {
  type PinMessage,
  pinMessage,
  pinnedSoon,
  pinnedTexts,
  unpinMessage,
  type WaitingMessage,
} from "./pins.ts";
export { type PlanCompactionOptions, planCompaction } from "./plan-compaction.ts";
export { compactionPresets, type PresetName } from "./presets.ts";
export type { Refusal } from "./refusal.ts";
export { runCompaction } from "./run-compaction.ts";
export type { RungName } from "./rung.ts";
export { summarySections } from "./sections.ts";
export { serialise } from "./serialise.ts";
export { compactionSettings } from "./settings.ts";
export { type SettingsProblemOptions, settingsProblem } from "./settings-problem.ts";
export {
  type CompactionSettings,
  type CompactionSettingsInput,
  compactionSettingsSchema,
} from "./settings-schema.ts";
export type { BranchSummary } from "./summarise-branch.ts";
export { type SummariseEntriesOptions, summariseEntries } from "./summarise-entries.ts";
export {
  type SummarisePreparationOptions,
  summarisePreparation,
} from "./summarise-preparation.ts";
export type { Summariser, SummaryAnswer, SummaryKind, SummaryRequest } from "./summariser.ts";
export { tailEntries } from "./tail-entries.ts";
export { thresholdTokens } from "./threshold.ts";
