import { existsSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { ExpressionWorker } from "@bonsai-agent/agent/host";
import { BonsaiError, SecretFilter } from "@bonsai-agent/messages";
import { bonsaiHome, openSession, type Session } from "@bonsai-agent/session";
import {
  parseSearchQuery,
  type SearchFindings,
  type SessionHit,
  SessionSearch,
} from "@bonsai-agent/session/search";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { openSessionFile, sessionPath } from "../call/session-file.ts";
import { agentCallSettings } from "../call/settings.ts";
import { kindStyle, type Line, span, table } from "../views/line.ts";
import { age, counted } from "../views/numbers.ts";
import { kindWord } from "../views/preview.ts";
import { oneLine } from "../views/terminal-text.ts";

const defaultLimit = 50;

type Query = Parameters<SessionSearch["find"]>[0];

/** A hit in one session. */
interface SearchHit extends Pick<SessionHit, "entryId" | "type" | "role" | "snippet"> {
  onActivePath: boolean;
}

/** @throws BonsaiError if the query begins with a session file */
function rejectFile({ args: [first = "", ...words], io }: Invocation): void {
  if (words.length === 0 || !first.endsWith(".jsonl") || !existsSync(resolve(io.cwd, first))) return;
  throw wrongUsage(
    `${first} is a file, not a word of the query.`,
    `To search in it, run \`bonsai search ${words.join(" ")} --in ${first}\`.`,
  );
}

/** Prints the hits of all sessions, best first; or those of one session, in file order. */
export async function run(invocation: Invocation): Promise<ExitCode | undefined> {
  const { options, output, io } = invocation;
  const query = invocation.args.join(" ");
  const name = options.in;
  if (typeof name !== "string") {
    if (options.regex === true)
      throw wrongUsage("--regex searches one session.", "Name the session: add --in SESSION.");
    rejectFile(invocation);
    return searchAll(invocation, query);
  }
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
    () => {
      const rows = hits.map((hit) => {
        const place = hit.onActivePath ? span("●", "green") : span("○", "gray");
        return [[span(hit.entryId, "gray")], [place], ...hitCells(hit)];
      });
      return hitsView(rows, { query, more: found.more, width: output.width });
    },
  );
  return undefined;
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

/** One hit a line, then their number. */
function hitsView(
  rows: Line[][],
  { query, more, width }: { query: string; more: boolean; width: number },
): Line[] {
  if (rows.length === 0) return [["No matches for ", JSON.stringify(query), "."]];
  const columns = rows[0]!.map((_, at, { length }) => ({ flexible: at === length - 1 }));
  const found = span(counted(rows.length, "hit"), "bold");
  return [
    ...table(rows, { columns, width }),
    [],
    [found, more ? span("  There are more: raise --limit.", "gray") : ""],
  ];
}

/** The kind and the text of a hit. */
function hitCells({ role, type, snippet }: Pick<SessionHit, "role" | "type" | "snippet">): Line[] {
  const kind = kindWord(role ?? type);
  return [[span(kind, kindStyle(kind))], [oneLine(snippet)]];
}

/** After this time, the search reads the remaining sessions from their files. */
const INDEXING_MS = 1500;

/** Prints the hits of all sessions or of a folder's sessions, best first. */
async function searchAll(invocation: Invocation, query: string): Promise<ExitCode | undefined> {
  const { io, options, output } = invocation;
  const found = await io.interruptible((signal) =>
    withProgress(io, "Searching sessions", () => findings(invocation, { query, signal })),
  );
  if (found === undefined) return ExitCode.cancelled;
  if (found.unread.length > 0)
    output.notify({
      code: "sessions_unread",
      message: `Skipped ${counted(found.unread.length, "damaged file")}. Run \`bonsai session list\` to see which.`,
    });
  const secrets = printedSecrets(invocation);
  if (options.redact !== false) learnFrom(secrets, found.hits);
  const hits = secrets.value(found.hits);
  await output.list(
    () => hits,
    () => {
      const rows = hits.map((hit) => [
        [span(sessionId(hit), "cyan")],
        [span(hit.entryId, "gray")],
        [span(age(hit.timeMs, io.now()), "gray")],
        ...hitCells(hit),
      ]);
      return hitsView(rows, { query, more: found.more, width: output.width });
    },
  );
  return undefined;
}

/** Larger sessions would keep the user waiting. */
const MAX_LEARNED_BYTES = 32_000_000;

/** A hit can contain a value that only another entry of its session gives away. */
function learnFrom(secrets: SecretFilter, hits: readonly SessionHit[]): void {
  let bytes = 0;
  for (const file of new Set(hits.map((hit) => hit.file))) {
    bytes += statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes > MAX_LEARNED_BYTES) return;
    if (existsSync(file)) secrets.learn(openSession(file).entries());
  }
}

/** Undefined if the user stops the search. */
async function findings(
  invocation: Invocation,
  { query, signal }: { query: string; signal: AbortSignal },
): Promise<SearchFindings | undefined> {
  const { io, options, output } = invocation;
  const search = new SessionSearch({
    home: bonsaiHome(io.env),
    index: agentCallSettings(invocation).index.enabled,
    onNotice: (notice) => output.notify(notice),
  });
  const scope = typeof options.cwd === "string" ? { cwd: resolve(io.cwd, options.cwd) } : {};
  const limit = typeof options.limit === "number" ? options.limit : defaultLimit;
  try {
    await search.catchUp({ scope, budgetMs: INDEXING_MS, signal });
    return await search.find(parseSearchQuery(query), {
      ...{ scope, limit, signal },
      ...(options.redact === false && { secrets: new SecretFilter([], false) }),
    });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    search.close();
  }
}

/** The beginning of the session's id in the file's name. */
function sessionId({ file }: SessionHit): string {
  return basename(file, ".jsonl").replace(/^.*_/, "").slice(0, 8);
}
