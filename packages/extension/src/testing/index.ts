export {
  askProvider,
  offeredModels,
  type ProviderOutcome,
  type ProviderQuestion,
} from "./ask-provider.ts";
export {
  type OpenTestSessionOptions,
  openTestSession,
  type TestExtension,
  type TestSession,
} from "./open-test-session.ts";
export type { TestAnswer, TestAnswers, TestDialogAnswer, TestDialogAnswers, UICall } from "./script.ts";
