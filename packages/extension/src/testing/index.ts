export {
  type OpenTestSessionOptions,
  openTestSession,
  type TestExtension,
  type TestSession,
} from "./open-test-session.ts";
export type { TestAnswer, TestAnswers } from "./scripted-models.ts";
export type { TestDialogAnswer, TestDialogAnswers, UICall } from "./scripted-ui.ts";
