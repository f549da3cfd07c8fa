export type { SessionHit } from "./hits.ts";
export { type PatternQuery, parseSearchQuery, type SearchQuery } from "./query.ts";
export { SearchThread } from "./search-thread.ts";
export {
  type SearchFindings,
  type SearchProgress,
  type SearchScope,
  SessionSearch,
} from "./session-search.ts";
