// Shared by Bonsai's own packages. May change in any release.

export { branchWords } from "./branch/branch.ts";
export {
  type GapRecord,
  type GapText,
  gapRecord,
  gapText,
  type LostFacts,
  lostCounts,
  lostFacts,
  summaryInstructions,
} from "./carry/gap.ts";
export type { SummaryLoss } from "./carry/loss.ts";
export { numberedEntries } from "./carry/numbered.ts";
export type { SummaryEntry, SummaryLine } from "./carry/sources.ts";
export type { CompactionSite } from "./flow/controller.ts";
export { sizeBeforeText, stepsText } from "./flow/result.ts";
export { serialise } from "./ladder/prompt.ts";
export { countAhead } from "./plan/context.ts";
export { cutRefusal } from "./plan/cut.ts";
export { originalProjection } from "./plan/originals.ts";
export { contextSizeOf } from "./plan/view.ts";
export { FileOperationCounter } from "./record/file-operations.ts";
export { commandRuns } from "./record/outcomes.ts";
export type { CompactionPolicy } from "./settings.ts";
export {
  cheaperWay,
  type ProviderAnswer,
  type ProviderCompaction,
  type ProviderRequest,
  prefixFits,
  SummaryFailure,
  type SummaryWays,
} from "./summariser.ts";
