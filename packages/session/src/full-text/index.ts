export type { SessionHit } from "./hit.ts";
export { parseSearchQuery, type SearchQuery } from "./search-query.ts";
export {
  type FindOptions,
  type IndexState,
  type SearchFindings,
  type SearchNotice,
  type SearchScope,
  SessionSearch,
  type SessionSearchOptions,
} from "./session-search.ts";
