export type { SessionHit } from "./hit.ts";
export { findInSession, type SearchHit } from "./search.ts";
export { parseSearchQuery } from "./search-query.ts";
export { SearchThread } from "./search-thread.ts";
export {
  type SearchFindings,
  type SearchProgress,
  type SearchScope,
  SessionSearch,
} from "./session-search.ts";
