export { openPool } from "./database.ts";
export { makeDrafts } from "./draft-work.ts";
export type { ListOptions, SearchOptions, SharedHit, SharedSessionSummary } from "./listing.ts";
export { type DatabaseStatus, databaseStatus, initDatabase } from "./schema.ts";
export {
  type OpenSharedOptions,
  type SharedSessions,
  type SharedSessionsOptions,
  sharedSessions,
  sharedStoreOf,
} from "./shared-sessions.ts";
