import type { Entry } from "../entry.ts";
import type { EntryFacts } from "./entry-lines.ts";
import { snippet } from "./search.ts";
import type { TermMatcher } from "./search-query.ts";

/** An entry that was found in a session. */
export interface SessionHit {
  /** Absolute path of the session; empty for one that has no file. */
  file: string;
  entryId: string;
  type: Entry["type"];
  /** Only for a message. */
  role?: string;
  /** When it was written, in milliseconds since the epoch; 0 where it does not say. */
  timeMs: number;
  /** A match with some text around it, on one line. */
  snippet: string;
}

/** A hit before it is ranked. */
export interface Found extends SessionHit {
  offset: number;
  counts: readonly number[];
  characters: number;
}

/** An entry as a hit; undefined where it is none. */
export function foundIn(
  facts: EntryFacts,
  { matcher, file, entryId, offset }: { matcher: TermMatcher; file: string; entryId: string; offset: number },
): Found | undefined {
  const { texts, ...rest } = facts;
  const match = matcher.find(texts);
  if (match === undefined) return undefined;
  // A copy: a part of a string keeps all of it in memory.
  const around = Buffer.from(snippet(match.text, match)).toString();
  const { counts, characters } = match;
  return { file, entryId, ...rest, snippet: around, offset, counts, characters };
}

/** A line that a crash made its writer write twice is one hit. */
export function distinct(found: readonly Found[]): Found[] {
  const seen = new Map<string, Found>();
  for (const hit of found) {
    const key = `${hit.file}\0${hit.entryId}\0${hit.type}\0${hit.snippet}`;
    if (!seen.has(key)) seen.set(key, hit);
  }
  return [...seen.values()];
}

/** The public part of a hit. */
export function hitOf({
  offset: _offset,
  counts: _counts,
  characters: _characters,
  ...hit
}: Found): SessionHit {
  return hit;
}
