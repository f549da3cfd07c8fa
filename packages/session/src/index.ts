export type { Problem, ProblemKind, SessionNotice } from "./doctor/problems.ts";
export { diagnoseSession, repairSession } from "./doctor/repair.ts";
export {
  type BranchSummaryEntry,
  CALIBRATION_CUSTOM_TYPE,
  type CompactionEntry,
  type ContextEditEntry,
  type CustomEntry,
  type CustomMessageEntry,
  type Entry,
  type EntryDraft,
  type EntryDraftWithId,
  type EntryOf,
  type EntryType,
  type LabelEntry,
  LEAF_CUSTOM_TYPE,
  type MessageEntry,
  PIN_CUSTOM_TYPE,
  PINNED_CUSTOM_TYPE,
  RECORD_CUSTOM_TYPE,
  REDO_CUSTOM_TYPE,
  SESSION_VERSION,
  type SessionHeader,
  type StoredMessage,
  UNDO_CUSTOM_TYPE,
  UNPIN_CUSTOM_TYPE,
} from "./entry.ts";
export { entryKind, entryParts, entryTexts, kindWord } from "./entry-types.ts";
export { type CloneOptions, cloneSession, type ForkOptions, forkSession } from "./fork.ts";
export type { PathSettings, RecentSettings } from "./latest-entries.ts";
export {
  type CreateSessionOptions,
  createSession,
  createSessionIn,
  type OpenSessionOptions,
  openSession,
} from "./open-session.ts";
export { ownEntryWords, ownTypeWords, type PinChange, pinChange } from "./own-entries.ts";
export {
  type Projection,
  type ProjectionItem,
  type ProjectOptions,
  project,
} from "./projection.ts";
export type { EntryIndex, EntryRecord } from "./read/entry-index.ts";
export { messageParts } from "./read/message-line.ts";
export type { ScannedEntry } from "./read/session-reader.ts";
export type { Durability } from "./read/session-writer.ts";
export type { SessionTree, TreeEntry } from "./read/tree.ts";
export { Session } from "./session.ts";
export {
  type FindSessionOptions,
  findSession,
  type ListSessionsOptions,
  listSessions,
  rememberContinued,
  type SessionList,
  type SkippedFile,
} from "./session-list.ts";
export {
  type ChangedLines,
  isChangedLines,
  readSessionBlurb,
  SESSION_BLURB_CUSTOM_TYPE,
  type SessionBlurb,
  type SessionSummary,
} from "./session-summary.ts";
export { JsonlStore } from "./store/jsonl-store.ts";
export {
  bonsaiHome,
  newSessionFile,
  type SessionFileOptions,
  type SessionFolderOptions,
  sessionFolder,
} from "./store/session-folder.ts";
export { MemoryStore, OverlayStore, type SessionStore } from "./store/store.ts";
export { answeringModel, UsageCounter } from "./usage-counter.ts";
