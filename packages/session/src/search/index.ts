export { type PatternQuery, parseSearchQuery, type SearchQuery } from "./query.ts";
export type { SessionHit } from "./ranking.ts";
export { SearchThread } from "./search-thread.ts";
export {
  type SearchFindings,
  type SearchProgress,
  type SearchScope,
  SessionSearch,
} from "./session-search.ts";
