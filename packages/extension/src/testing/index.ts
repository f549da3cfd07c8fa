export { openTestSession } from "./open-test-session.ts";
export type { OpenTestSessionOptions, TestExtension } from "./open-test-session-options.ts";
export type { TestAnswer, TestAnswers } from "./scripted-models.ts";
export type { TestDialogAnswer, TestDialogAnswers, UICall } from "./scripted-ui.ts";
export type { TestSession } from "./test-session.ts";
