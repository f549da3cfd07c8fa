export {
  askProvider,
  offeredModels,
  type ProviderOutcome,
  type ProviderQuestion,
} from "./ask-provider.ts";
export {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "./open-test-session.ts";
export type { TestAnswers, TestDialogAnswers } from "./script.ts";
