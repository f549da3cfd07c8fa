export type { SessionHit } from "./hits.ts";
export { parseSearchQuery } from "./query.ts";
export { SearchThread } from "./search-thread.ts";
export { type SearchFindings, SessionSearch } from "./session-search.ts";
