import type { Session } from "../src/index.ts";
import { findInSession, type SearchHit } from "../src/search/index.ts";

/** All hits of a search in a session, in file order. */
export async function foundInSession(session: Session, pattern: string | RegExp): Promise<SearchHit[]> {
  const hits: SearchHit[] = [];
  for await (const hit of findInSession(session, pattern)) hits.push(hit);
  return hits;
}
