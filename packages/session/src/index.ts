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
export type { EntryIndex, EntryRecord } from "./entry-index.ts";
export { entryParts, messageParts } from "./entry-line.ts";
export { entryKind, kindWord } from "./entry-types.ts";
export { type CloneOptions, cloneSession, type ForkOptions, forkSession } from "./fork.ts";
export { JsonlStore } from "./jsonl-store.ts";
export type { PathSettings, RecentSettings } from "./latest-entries.ts";
export {
  type CreateSessionOptions,
  createSession,
  createSessionIn,
  type OpenSessionOptions,
  openSession,
} from "./open-session.ts";
export { ownEntryWords, ownTypeWords, type PinChange, pinChange } from "./own-entries.ts";
export type { Problem, ProblemKind, SessionNotice } from "./problems.ts";
export {
  type Projection,
  type ProjectionItem,
  type ProjectOptions,
  project,
} from "./projection.ts";
export { diagnoseSession, repairSession } from "./repair.ts";
export {
  entryTexts,
  type FindInTexts,
  type SearchHit,
  searchEntries,
  searchEntriesWith,
  searchExpression,
  type TextRange,
} from "./search.ts";
export { Session } from "./session.ts";
export {
  bonsaiHome,
  newSessionFile,
  type SessionFileOptions,
  type SessionFolderOptions,
  sessionFolder,
} from "./session-file.ts";
export {
  type FindSessionOptions,
  findSession,
  type ListSessionsOptions,
  listSessions,
  rememberContinued,
  type SessionList,
  type SkippedFile,
} from "./session-list.ts";
export type { ScannedEntry } from "./session-reader.ts";
export {
  type ChangedLines,
  isChangedLines,
  readSessionBlurb,
  SESSION_BLURB_CUSTOM_TYPE,
  type SessionBlurb,
  type SessionSummary,
} from "./session-summary.ts";
export type { Durability } from "./session-writer.ts";
export { MemoryStore, OverlayStore, type SessionStore } from "./store.ts";
export type { SessionTree, TreeEntry } from "./tree.ts";
export { answeringModel, UsageCounter } from "./usage-counter.ts";
