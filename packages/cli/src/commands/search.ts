import { existsSync } from "node:fs";
import { ExpressionWorker } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { type SearchFindings, type SessionHit, SessionSearch } from "@bonsai-agent/session/search";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { absolutePath } from "../call/paths.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { openSessionFile, sessionPath } from "../call/session-file.ts";
import { kindStyle, type Line, span, table } from "../views/line.ts";
import { counted } from "../views/numbers.ts";
import { kindWord } from "../views/preview.ts";
import { oneLine } from "../views/terminal-text.ts";

const defaultLimit = 50;

type Query = Parameters<SessionSearch["find"]>[0];

/** A hit in one session. */
interface SearchHit extends Pick<SessionHit, "entryId" | "type" | "role" | "snippet"> {
  onActivePath: boolean;
}

/** Prints the hits of all sessions, best first; or those of one session, in file order. */
export async function run(invocation: Invocation): Promise<ExitCode | undefined> {
  const { options, output, io } = invocation;
  const { query, name } = parseTarget(invocation);
  if (name === undefined) return (await import("./search-all.ts")).searchAll(invocation, query);
  const limit = typeof options.limit === "number" ? options.limit : defaultLimit;
  const session = openSessionFile(sessionPath(name, invocation), invocation);
  const secrets = printedSecrets(invocation, session);
  const find = (terms: Query, signal?: AbortSignal) =>
    new SessionSearch({ index: false }).find(terms, {
      ...{ scope: { session }, order: "file", limit, secrets, signal },
    });
  const found =
    options.regex === true
      ? await io.interruptible((signal) => findPattern(query, { session, signal, find }))
      : await find({ terms: [query] });
  if (found === undefined) return ExitCode.cancelled;
  const hits = searchHits(session, found.hits);
  await output.list(
    () => hits,
    () => searchView(hits, query, { more: found.more, width: output.width }),
  );
  return undefined;
}

/** The query, and the session of `--in`. Two words of which the first is a session are its name and the query. */
function parseTarget(invocation: Invocation): { query: string; name?: string } {
  const { args, options } = invocation;
  const words = args.filter((word) => word !== undefined);
  const query = words.join(" ");
  if (typeof options.in === "string") return { query, name: options.in };
  const [first, second] = words;
  const isOldForm = words.length === 2 && options.all !== true && namesSession(first!, invocation);
  if (!isOldForm && options.regex !== true) return { query };
  if (!isOldForm) throw wrongUsage("--regex searches one session.", "Name the session: add --in SESSION.");
  if (options.cwd === undefined) return { query: second!, name: first! };
  throw wrongUsage("--cwd is for a search in all sessions.", "Remove --cwd, or the session.");
}

/** A short word could be the start of an id by accident. */
const MIN_ID_CHARACTERS = 4;

/** Other files and folders are words of the query: `bonsai search src parser`. */
function namesSession(word: string, invocation: Invocation): boolean {
  if (existsSync(absolutePath(word, invocation.io.cwd))) return word.endsWith(".jsonl");
  if (word.length < MIN_ID_CHARACTERS) return false;
  try {
    sessionPath(word, invocation);
    return true;
  } catch (error) {
    if (BonsaiError.is(error)) return false;
    throw error;
  }
}

/** Runs the expression in its own thread, because it may never end. Undefined if the user stops it. */
async function findPattern(
  query: string,
  {
    session,
    signal,
    find,
  }: {
    session: Session;
    signal: AbortSignal;
    find: (pattern: Query, signal: AbortSignal) => Promise<SearchFindings>;
  },
): Promise<SearchFindings | undefined> {
  const worker = new ExpressionWorker(searchExpression(query));
  const name = session.file ?? "this session";
  try {
    return await find({ findTexts: (texts) => worker.find({ texts, name, signal }) }, signal);
  } catch (error) {
    if (signal.aborted && error === signal.reason) return undefined;
    throw error;
  } finally {
    worker.close();
  }
}

/** @throws BonsaiError `bad_search_pattern` */
function searchExpression(query: string): RegExp {
  try {
    return new RegExp(query, "i");
  } catch (cause) {
    throw new BonsaiError({
      code: "bad_search_pattern",
      message: `"${query}" is not a valid regular expression: ${(cause as Error).message}`,
      hint: "Escape special characters with a backslash, or search for plain text.",
      cause,
    });
  }
}

function searchHits(session: Session, hits: readonly SessionHit[]): SearchHit[] {
  // Unlike the index, the path reads every entry, so the session also reports damaged lines.
  const active = new Set(session.path().map(({ id }) => id));
  return hits.map(({ entryId, type, role, snippet }) => ({
    ...{ entryId, type, ...(role !== undefined && { role }), snippet },
    onActivePath: active.has(entryId),
  }));
}

/**
 * Hits, one a line; a filled dot marks those on the active branch.
 * @param more true when the limit cut hits off
 */
function searchView(
  hits: readonly SearchHit[],
  query: string,
  { more, width }: { more: boolean; width: number },
): Line[] {
  if (hits.length === 0) return [["No matches for ", JSON.stringify(query), "."]];
  const rows = hits.map((hit): Line[] => {
    const kind = kindWord(hit.role ?? hit.type);
    const place = hit.onActivePath ? span("●", "green") : span("○", "gray");
    return [[span(hit.entryId, "gray")], [place], [span(kind, kindStyle(kind))], [oneLine(hit.snippet)]];
  });
  const found = span(counted(hits.length, "hit"), "bold");
  return [
    ...table(rows, { columns: [{}, {}, {}, { flexible: true }], width }),
    [],
    [found, more ? span("  There are more: raise --limit.", "gray") : ""],
  ];
}
