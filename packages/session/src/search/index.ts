export { type SessionHit, termPlace } from "./hits.ts";
export { bestLines, parseQuery, type ShownTerm } from "./query.ts";
export { SearchThread } from "./search-thread.ts";
export { type SearchFindings, SessionSearch } from "./session-search.ts";
export type { EntrySource, PlacedEntry } from "./source.ts";
export { foldedText } from "./words.ts";
