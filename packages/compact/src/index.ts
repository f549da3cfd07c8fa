export {
  type CompactMessagesOptions,
  type CompactMessagesResult,
  type CompactReport,
  type CompactSettings,
  compactMessages,
  type MessageShapes,
} from "./compact-messages.ts";
export type { MessageFormat } from "./formats.ts";
export type { CompactState } from "./state.ts";
export type { SummaryFunction, SummaryModel } from "./summariser.ts";
