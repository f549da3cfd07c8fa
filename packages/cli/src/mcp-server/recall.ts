import { findRecalled } from "@bonsai-agent/agent";
import { clippedLine, displayId } from "@bonsai-agent/agent/host";
import { FRAMES, framed } from "@bonsai-agent/messages/host";
import { parseQuery, SessionSearch } from "@bonsai-agent/session/search";
import { z } from "zod";
import { wrongUsage } from "../call/failure.ts";
import { counted } from "../views/numbers.ts";
import { kindWord } from "../views/preview.ts";
import { oneLine } from "../views/terminal-text.ts";
import { type KnownSession, type KnownSessions, sessionWords } from "./known-sessions.ts";

export const recallInput = z.object({
  query: z
    .string()
    .describe('Words, paths, values or "exact text". A number finds the user message with this number.'),
  session: z.string().optional().describe("Id of a session. Default: this conversation."),
  scope: z
    .enum(["session", "all"])
    .optional()
    .describe(
      '"all" searches all sessions of all agents. Default: this session, then all sessions if it has no hit.',
    ),
  limit: z.number().int().min(1).max(20).optional().describe("Maximum number of hits. Default: 8."),
});

interface Hit {
  known: KnownSession;
  entry: string;
  who: string;
  time: string;
  lines: readonly string[];
}

interface Found {
  /** The searched sessions, as a sentence. */
  searched: string;
  hits: readonly Hit[];
  more: boolean;
}

interface RecallOptions {
  input: z.infer<typeof recallInput>;
  sessions: KnownSessions;
  search: SessionSearch;
  /** The conversation of the client, if it is known. */
  current: () => Promise<KnownSession | undefined>;
  /** Called for each session with a hit. */
  onFound: (known: KnownSession) => void;
  signal: AbortSignal;
}

const DEFAULT_HITS = 8;

/** Searches the entries that left the view of a session, or all sessions. */
export async function recall(options: RecallOptions): Promise<string> {
  const { query, session, scope } = options.input;
  if (parseQuery(query).terms.length === 0)
    throw wrongUsage(
      "The query contains no word to search for.",
      "Give words, a path, a value or an error message.",
    );
  if (scope === "all") return answerOf(await inAll(options));
  const known = session === undefined ? await options.current() : options.sessions.find(session);
  if (known === undefined) return answerOf(await inAll(options));
  const found = await inSession(known, options);
  if (found.hits.length > 0 || scope === "session" || session !== undefined) return answerOf(found);
  const all = await inAll(options);
  return answerOf({ ...all, searched: `${found.searched} It has no hit. ${all.searched}` });
}

async function inSession(known: KnownSession, { input, sessions, signal }: RecallOptions): Promise<Found> {
  const session = sessions.open(known);
  const { query, limit = DEFAULT_HITS } = input;
  // A reader of another session has none of it in view.
  const shown = input.session !== undefined;
  const { hits, more, terms } = await findRecalled({
    ...{ session, query, limit, signal, shown },
    branches: true,
    sessions: false,
    search: new SessionSearch({ index: false }),
  });
  return {
    searched: `Searched ${shown ? "all entries" : "the hidden entries"} of session ${sessionWords(known)}.`,
    hits: hits.flatMap(({ entry: { entryId, who, time, text }, lines }) => {
      if (OWN_RESULT.test(who)) return [];
      const all = text.split("\n");
      const shownLines = lines.map((at) => `${at}: ${clippedLine(all[at - 1] ?? "", terms)}`);
      return [{ known, entry: entryId, who, time, lines: shownLines }];
    }),
    more,
  };
}

/** A result of this server repeats entries that are hits themselves. */
const OWN_RESULT = /^result of \S*bonsai\S*(?:recall|open_entry|carry_over)\b/;

/** Larger sessions are not read for values that their other entries give away. */
const MAX_LEARNED_BYTES = 8_000_000;
/** Hits to look at for each shown one: the client's view hides some. */
const READ_PER_HIT = 3;
/** Time for new entries to be indexed: a client waits for a minute. */
const BUDGET_MS = 8_000;

async function inAll(options: RecallOptions): Promise<Found> {
  const { input, sessions, search, onFound, signal } = options;
  const { query, limit = DEFAULT_HITS } = input;
  const isInView = await viewOf(options);
  const asked = { limit: READ_PER_HIT * limit, requiresPhrases: false, budgetMs: BUDGET_MS, signal };
  const result = await search.find(query, { ...asked, scope: { sources: sessions.sources() } });
  const { files, unindexed } = result;
  const places = result.hits.flatMap((hit) => {
    const known = sessions.inSource(hit.file);
    // A summary repeats the entries that it replaced.
    if (known === undefined || hit.type === "compaction" || isInView(known, hit.entryId)) return [];
    return [{ ...hit, known }];
  });
  const hits = places.slice(0, limit);
  let bytes = 0;
  for (const known of new Set(hits.map((hit) => hit.known))) {
    bytes += known.bytes;
    if (bytes <= MAX_LEARNED_BYTES) onFound(known);
  }
  const left =
    unindexed === 0
      ? ""
      : ` Not indexed yet: ${counted(unindexed, "session")}. Search again to include more.`;
  return {
    searched: `Searched ${counted(files, "session")} of all agents.${left}`,
    hits: hits.map(({ known, entryId, type, role, timeMs, snippet }) => {
      const time = timeMs > 0 ? new Date(timeMs).toISOString().slice(0, 16).replace("T", " ") : "";
      const who = kindWord(role ?? type);
      return { known, entry: entryId, who, time, lines: [oneLine(snippet)] };
    }),
    more: result.more || places.length > limit,
  };
}

/** Tests whether the client's conversation shows an entry. Its own search is there, too. */
async function viewOf({
  current,
  sessions,
}: RecallOptions): Promise<(known: KnownSession, id: string) => boolean> {
  const own = await current();
  if (own === undefined) return () => false;
  const items = sessions.open(own).projection().items;
  const shown = new Set(items.map(({ entryId }) => entryId));
  return ({ path, id }, entryId) => path === own.path && id === own.id && shown.has(entryId);
}

function answerOf({ searched, hits, more }: Found): string {
  if (hits.length === 0) return `${searched}\n\nNo hits. Try other words, or scope "all".`;
  const texts = hits.map(({ known, entry, who, time, lines }, at) => {
    const head = [`[${displayId(entry)}] ${who}`, time].filter(Boolean).join(", ");
    return [
      `${at + 1}. ${head} in session ${sessionWords(known)}`,
      ...lines.map((line) => `   ${line}`),
    ].join("\n");
  });
  const note = `${counted(hits.length, "hit")}${more ? "; more with a higher limit" : ""}. To open a hit, pass its session and its entry to open_entry.`;
  return [searched, framed(FRAMES.recalled, texts.join("\n\n")), note].join("\n\n");
}
