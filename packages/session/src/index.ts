export { repairSession } from "./doctor/repair.ts";
export {
  type BranchSummaryEntry,
  type CompactionEntry,
  type ContextEditEntry,
  type CustomEntry,
  customTypes,
  type Entry,
  type EntryDraft,
  type EntryDraftWithId,
  type EntryOf,
  SESSION_VERSION,
  type SessionHeader,
  type StoredMessage,
} from "./entry.ts";
export { entryKind, entryParts, entryTexts, kindWord } from "./entry-types.ts";
export { cloneSession, forkSession } from "./fork.ts";
export { messageParts } from "./message-line.ts";
export { createSession, openSession } from "./open-session.ts";
export {
  type ChangedLines,
  isChangedLines,
  ownEntryWords,
  ownTypeWords,
  pinChange,
  readSessionBlurb,
} from "./own-entries.ts";
export {
  type Projection,
  type ProjectionItem,
  project,
} from "./projection.ts";
export { storedProviderSummary } from "./provider-summary.ts";
export type { SessionTree } from "./read/tree.ts";
export { Session } from "./session.ts";
export {
  findSession,
  listSessions,
  rememberContinued,
} from "./session-list.ts";
export type { SessionSummary } from "./session-summary.ts";
export { JsonlStore } from "./store/jsonl-store.ts";
export {
  bonsaiHome,
  newSessionFile,
  sessionFolder,
} from "./store/new-file.ts";
export {
  type CallEffects,
  type CallLedger,
  type CallState,
  type DraftAnswer,
  type DraftRequest,
  type LedgerCall,
  MemoryStore,
  type SessionStore,
  type SummaryDrafts,
} from "./store/store.ts";
export { answeringModel, UsageCounter } from "./usage-counter.ts";
