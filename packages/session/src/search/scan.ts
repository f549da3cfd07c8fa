import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { SecretFilter } from "@bonsai-agent/messages";
import { textPart } from "@bonsai-agent/messages/host";
import type { EntryMatch, QueryMatcher, TextRange } from "./query.ts";
import type { Rankable, SessionHit } from "./ranking.ts";
import { type EntryFacts, FILE_START, type FilePosition, type SessionSource } from "./source.ts";

/** A hit with the facts that decide about its rank. */
export type ScoredHit = SessionHit & Rankable;

/** The part of a file that is read before other tasks get a turn. */
const SLICE_BYTES = 1 << 18;

/**
 * Searches a session from a position to its end. Yields the hits of one part after the other, in file order.
 * @throws the signal's reason, and what reading the file throws
 */
export async function* scan(
  source: SessionSource,
  {
    matcher,
    from = FILE_START,
    secrets,
    signal,
  }: {
    matcher: QueryMatcher;
    from?: FilePosition | undefined;
    secrets: SecretFilter | undefined;
    signal: AbortSignal | undefined;
  },
): AsyncGenerator<ScoredHit[]> {
  signal?.throwIfAborted();
  const size = source.size();
  let position = from;
  for (let bytes = SLICE_BYTES; position.offset < size; ) {
    const until = Math.min(size, position.offset + bytes);
    const entries: { facts: EntryFacts; offset: number }[] = [];
    const next = source.visitEntries({
      from: position,
      until,
      lastLine: until === size,
      visit: (entry) => {
        const { bytes: held, start, end, whole, offset } = entry.line;
        if (whole && !matcher.mayMatch(held.toString("latin1", start, end))) return;
        const facts = entry.facts(secrets);
        if (facts !== undefined) entries.push({ facts, offset });
      },
    });
    const matches = await matcher.findAll(entries.map(({ facts }) => facts.texts));
    yield entries.flatMap(({ facts, offset }, at) => {
      const match = matches[at];
      return match === undefined ? [] : [matchedEntry(facts, { match, file: source.file, offset })];
    });
    if (until === size) return;
    // A line can be longer than a slice.
    bytes = next.offset === position.offset ? 2 * bytes : SLICE_BYTES;
    position = next;
    await yieldToEventLoop();
    signal?.throwIfAborted();
  }
}

/** An entry as a hit. */
export function matchedEntry(
  { texts: _texts, ...facts }: EntryFacts,
  { match, file, offset }: { match: EntryMatch; file: string; offset: number },
): ScoredHit {
  const { counts, characters } = match;
  // A copy: a part of a string keeps all of it in memory.
  const snippet = Buffer.from(snippetOf(match.text, match)).toString();
  return { file, ...facts, snippet, offset, counts, characters };
}

const SNIPPET_CHARACTERS = 60;

/** A part of a text with some text around it, on one line. */
function snippetOf(text: string, { start, end }: TextRange): string {
  const from = Math.max(0, start - SNIPPET_CHARACTERS);
  const to = Math.min(text.length, Math.min(end, start + 2 * SNIPPET_CHARACTERS) + SNIPPET_CHARACTERS);
  const line = textPart(text, from, to).replaceAll(/\s+/g, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${to < text.length ? "…" : ""}`;
}

/** The public part of a hit. */
export function publicHit({
  offset: _offset,
  counts: _counts,
  characters: _characters,
  ...hit
}: ScoredHit): SessionHit {
  return hit;
}
