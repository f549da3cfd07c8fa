import type { Session } from "../src/index.ts";
import { type SessionHit, SessionSearch } from "../src/search/index.ts";

/** All hits of a search without an index: best first, or in file order for an expression. */
export async function foundInSession(session: Session, pattern: string | RegExp): Promise<SessionHit[]> {
  const query =
    typeof pattern === "string"
      ? pattern
      : { findTexts: async (texts: readonly string[]) => firstMatches(pattern, texts) };
  const search = new SessionSearch({ index: false });
  const { hits } = await search.find(query, { scope: { session }, limit: Number.POSITIVE_INFINITY });
  return hits;
}

function firstMatches(pattern: RegExp, texts: readonly string[]) {
  const matches = texts.map((text) => pattern.exec(text));
  return new Map(
    matches.flatMap((match, number) =>
      match === null ? [] : [[number, { start: match.index, end: match.index + match[0].length }] as const],
    ),
  );
}
