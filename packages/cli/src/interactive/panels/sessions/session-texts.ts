import { openSession, type SessionSummary, searchEntries } from "@bonsai-agent/session";

/** A session that holds what was looked for. */
export interface TextHit {
  session: SessionSummary;
  /** The first place, with some text around it. */
  snippet: string;
}

export interface SearchTextsOptions {
  sessions: readonly SessionSummary[];
  query: string;
  /** Ends the search. */
  signal: AbortSignal;
  onHit: (hit: TextHit) => void;
}

/**
 * Looks through the whole text of sessions, branches included, one session after the other; keys are heard between
 * two of them. @returns how many could not be read
 */
export async function searchTexts({ sessions, query, signal, onHit }: SearchTextsOptions): Promise<number> {
  let unread = 0;
  for (const session of sessions) {
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) return unread;
    try {
      const snippet = firstHit(session.file, query);
      if (snippet !== undefined) onHit({ session, snippet });
    } catch {
      // A session that cannot be read is counted; the others are still looked through.
      unread += 1;
    }
  }
  return unread;
}

function firstHit(file: string, query: string): string | undefined {
  const session = openSession(file, { onNotice: () => {} });
  try {
    for (const { snippet } of searchEntries(session, query)) return snippet;
    return undefined;
  } finally {
    session.close();
  }
}
