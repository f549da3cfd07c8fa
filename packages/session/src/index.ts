export { type CreateSessionOptions, createSession, createSessionIn } from "./create-session.ts";
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
  SESSION_VERSION,
  type SessionHeader,
  type StoredMessage,
  UNDO_CUSTOM_TYPE,
  UNPIN_CUSTOM_TYPE,
} from "./entry.ts";
export type { EntryIndex, EntryRecord } from "./entry-index.ts";
export { entryTexts } from "./entry-text.ts";
export { type FindSessionOptions, findSession } from "./find-session.ts";
export { type CloneOptions, cloneSession, type ForkOptions, forkSession } from "./fork.ts";
export { JsonlStore } from "./jsonl-store.ts";
export { MemoryStore, OverlayStore } from "./memory-store.ts";
export { NewFile } from "./new-file.ts";
export type { SessionNotice } from "./notice.ts";
export { type OpenSessionOptions, openSession } from "./open-session.ts";
export type { PathSettings } from "./path-settings.ts";
export { type PinChange, pinChange, pinChangeIn } from "./pin.ts";
export type { Problem, ProblemKind } from "./problem.ts";
export {
  editedMessage,
  liveCompaction,
  type Projection,
  type ProjectionItem,
  project,
} from "./projection.ts";
export { diagnoseSession, repairSession } from "./repair.ts";
export { type FindInTexts, type SearchHit, searchEntries, searchEntriesWith } from "./search.ts";
export { searchExpression, type TextRange } from "./search-pattern.ts";
export { Session } from "./session.ts";
export {
  type ChangedLines,
  readSessionDigest,
  SESSION_DIGEST_CUSTOM_TYPE,
  type SessionDigest,
} from "./session-digest.ts";
export {
  bonsaiHome,
  newSessionFile,
  type SessionFileOptions,
  type SessionFolderOptions,
  sessionFolder,
} from "./session-home.ts";
export {
  type ListSessionsOptions,
  listSessions,
  type SessionList,
  type SkippedFile,
} from "./session-list.ts";
export type { ScannedEntry } from "./session-reader.ts";
export type { SessionStore } from "./session-store.ts";
export type { SessionSummary } from "./session-summary.ts";
export type { Durability } from "./session-writer.ts";
export { undoneBy } from "./view-seeker.ts";
export { writeSessionFile } from "./write-session-file.ts";
