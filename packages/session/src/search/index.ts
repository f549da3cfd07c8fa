export type { SessionHit } from "./hit.ts";
export { findInSession, type SearchHit } from "./search.ts";
export { parseSearchQuery, type SearchQuery } from "./search-query.ts";
export { SearchThread } from "./search-thread.ts";
export {
  type CatchUpOptions,
  type FindOptions,
  type IndexState,
  type SearchFindings,
  type SearchNotice,
  type SearchProgress,
  type SearchScope,
  SessionSearch,
  type SessionSearchOptions,
} from "./session-search.ts";
