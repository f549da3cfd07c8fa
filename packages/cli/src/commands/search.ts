import { existsSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { ExpressionWorker } from "@bonsai-agent/agent/host";
import { BonsaiError, SecretFilter } from "@bonsai-agent/messages";
import { bonsaiHome, openSession, type Session } from "@bonsai-agent/session";
import { type SearchFindings, type SessionHit, SessionSearch } from "@bonsai-agent/session/search";
import { databaseUrl, withDatabase } from "../call/database.ts";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { openSessionFile, sessionPath } from "../call/session-file.ts";
import { inMemory, transcriptSession } from "../call/session-import.ts";
import { agentCallSettings } from "../call/settings.ts";
import { kindStyle, type Line, span, table } from "../views/line.ts";
import { age, count, counted } from "../views/numbers.ts";
import { kindWord } from "../views/preview.ts";
import { oneLine } from "../views/terminal-text.ts";

/** @throws BonsaiError if the query begins with a session file */
function rejectFile({ args: [first = "", ...words], io }: Invocation): void {
  if (words.length === 0 || !first.endsWith(".jsonl") || !existsSync(resolve(io.cwd, first))) return;
  throw wrongUsage(
    `${first} is a file, not a word of the query.`,
    `To search in it, run \`bonsai search ${words.join(" ")} --in ${first}\`.`,
  );
}

/** The session of `--in`, or the transcript of another agent as one. */
function namedSession(name: string, invocation: Invocation): Session {
  const path = sessionPath(name, invocation);
  const imported = transcriptSession(invocation, "Searching it as a session.", path);
  return imported === undefined ? openSessionFile(path, invocation) : inMemory(imported);
}

/** Prints the matching entries of all sessions or of one session: best first, or in file order for an expression. */
export async function run(invocation: Invocation): Promise<ExitCode | undefined> {
  const { options, output, io } = invocation;
  const name = options.in;
  if (typeof name !== "string") rejectFile(invocation);
  if (name === undefined && databaseUrl(invocation) !== undefined) return searchDatabase(invocation);
  const session = typeof name === "string" ? namedSession(name, invocation) : undefined;
  const secrets = printedSecrets(invocation, session);
  const found = await io.interruptible((signal) =>
    withProgress(io, "Searching sessions", () => findings(invocation, { session, secrets, signal })),
  );
  if (found === undefined) return ExitCode.cancelled;
  reportUnsearched(invocation, found);
  if (options.redact !== false) learnFrom(secrets, found.hits);
  const hits = secrets.value(found.hits);
  const active = session && new Set(session.path().map(({ id }) => id));
  await output.list(
    () => (active === undefined ? hits : hits.map((hit) => entryHit(hit, active))),
    () => {
      if (hits.length === 0) return [["No matches for ", JSON.stringify(invocation.args.join(" ")), "."]];
      const rows = hits.map((hit) => hitCells(hit, active, io.now()));
      const columns = rows[0]!.map((_, at, { length }) => ({ flexible: at === length - 1 }));
      const more = found.more ? span("  There are more: raise --limit.", "gray") : "";
      return [
        ...table(rows, { columns, width: output.width }),
        [],
        [span(counted(hits.length, "hit"), "bold"), more],
      ];
    },
  );
  return undefined;
}

/** Searches the shared sessions. Their texts are stored without secrets. */
async function searchDatabase(invocation: Invocation): Promise<undefined> {
  const { options, output, io, args } = invocation;
  const query = args.join(" ");
  if (options.regex === true)
    throw wrongUsage(
      "--regex does not search a database.",
      "Remove --regex, or search one session file with --in.",
    );
  const hits = await withDatabase(invocation, ({ sessions }) =>
    sessions.search(query, {
      ...(typeof options.cwd === "string" && { cwd: resolve(io.cwd, options.cwd) }),
      ...(typeof options.limit === "number" && { limit: options.limit }),
    }),
  );
  const shown = printedSecrets(invocation).value(hits);
  output.result(shown, () => {
    if (shown.length === 0) return [["No matches for ", JSON.stringify(query), " in the database."]];
    const rows = shown.map(({ sessionId, entryId, timeMs, role, type, excerpt }) => {
      const kind = kindWord(role ?? type);
      return [
        [span(sessionId.slice(0, 8), "cyan")],
        [span(entryId, "gray")],
        [timeMs === undefined ? "" : span(age(timeMs, io.now()), "gray")],
        [span(kind, kindStyle(kind))],
        [oneLine(excerpt)],
      ];
    });
    const columns = [{}, {}, {}, {}, { flexible: true }];
    return [
      ...table(rows, { columns, width: output.width }),
      [],
      [span(counted(shown.length, "hit"), "bold")],
    ];
  });
}

/** A hit of a search in one session, as JSON. */
function entryHit({ entryId, type, role, snippet }: SessionHit, active: ReadonlySet<string>) {
  return { entryId, type, ...(role !== undefined && { role }), snippet, onActivePath: active.has(entryId) };
}

function reportUnsearched({ output }: Invocation, { unread, unindexed, files }: SearchFindings): void {
  if (unread.length > 0)
    output.notify({
      code: "sessions_unread",
      message: `Skipped ${counted(unread.length, "damaged file")}. Run \`bonsai session list\` to see which.`,
    });
  if (unindexed > 0)
    output.notify({
      code: "sessions_unindexed",
      message: `Searched ${count(files - unindexed - unread.length)} of ${counted(files, "session")}; the others are not indexed yet. Search again to include more.`,
    });
}

/** The session, the entry, its age and its text. In one session: the entry, its branch and its text. */
function hitCells(
  { file, entryId, timeMs, role, type, snippet }: SessionHit,
  active: ReadonlySet<string> | undefined,
  nowMs: number,
): Line[] {
  // The beginning of the session's id in the file's name.
  const session = basename(file, ".jsonl").replace(/^.*_/, "").slice(0, 8);
  const entry = span(entryId, "gray");
  const kind = kindWord(role ?? type);
  const text = [[span(kind, kindStyle(kind))], [oneLine(snippet)]];
  return active === undefined
    ? [[span(session, "cyan")], [entry], [span(age(timeMs, nowMs), "gray")], ...text]
    : [[entry], [active.has(entryId) ? span("●", "green") : span("○", "gray")], ...text];
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
  { session, secrets, signal }: { session: Session | undefined; secrets: SecretFilter; signal: AbortSignal },
): Promise<SearchFindings | undefined> {
  const { io, options, output, args } = invocation;
  const query = args.join(" ");
  const search = new SessionSearch({
    home: bonsaiHome(io.env),
    index: agentCallSettings(invocation).index.enabled,
    onNotice: (notice) => output.notify(notice),
  });
  // An expression may never end, so it runs in its own thread.
  const worker = options.regex === true ? new ExpressionWorker(searchExpression(query)) : undefined;
  const name = session?.file ?? "the sessions";
  const cwd = typeof options.cwd === "string" ? { cwd: resolve(io.cwd, options.cwd) } : {};
  try {
    return await search.find(
      worker ? { findTexts: (texts) => worker.find({ texts, name, signal }) } : query,
      {
        scope: session === undefined ? cwd : { session },
        ...(typeof options.limit === "number" && { limit: options.limit }),
        secrets: options.redact === false ? new SecretFilter([], false) : secrets,
        signal,
      },
    );
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    worker?.close();
    search.close();
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
