export {
  type BranchSummaryEntry,
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
  SESSION_VERSION,
  type SessionHeader,
  type StoredMessage,
  UNDO_CUSTOM_TYPE,
} from "./entry.ts";
export { type FindSessionOptions, findSession } from "./find-session.ts";
export { type CloneOptions, cloneSession, type ForkOptions, forkSession } from "./fork.ts";
export { liveCompaction, type Projection, type ProjectionItem, project } from "./projection.ts";
export { type SearchHit, type SearchOptions, searchEntries } from "./search.ts";
export { type CreateSessionOptions, createSession, openSession, Session } from "./session.ts";
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
export type { SessionSummary } from "./session-summary.ts";
