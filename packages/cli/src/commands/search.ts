import { ExpressionWorker } from "@bonsai-agent/agent/host";
import { ExitCode, type Invocation } from "@bonsai-agent/app/invocation";
import { kindStyle, type Line, span, table } from "@bonsai-agent/app/line";
import { counted } from "@bonsai-agent/app/numbers";
import { kindWord } from "@bonsai-agent/app/preview";
import { openNamedSession } from "@bonsai-agent/app/session-file";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  type SearchHit,
  type Session,
  searchEntries,
  searchEntriesWith,
  searchExpression,
} from "@bonsai-agent/session";

const defaultLimit = 50;

/** Prints the hits in file order, those of all sessions by how well they fit; `--json` the hits themselves. */
export async function run(invocation: Invocation): Promise<ExitCode | undefined> {
  const { options, output, io } = invocation;
  const query = queryOf(invocation);
  if (options.all === true) return (await import("./search-all.ts")).searchAll(invocation, query);
  const limit = typeof options.limit === "number" ? options.limit : defaultLimit;
  const session = openNamedSession(invocation);
  const found =
    options.regex === true
      ? await io.interruptible((signal) => expressionHits(session, query, { limit: limit + 1, signal }))
      : await firstHits(searchEntries(session, query), limit + 1);
  if (found === undefined) return ExitCode.cancelled;
  const hits = found.slice(0, limit);
  await output.list(
    () => hits,
    () => searchView(hits, query, { more: found.length > limit, width: output.width }),
  );
  return undefined;
}

/** @throws BonsaiError `wrong_usage` where a session is missing, or one is named beside `--all` */
function queryOf({ args: [first, second], options }: Invocation): string {
  const isAll = options.all === true;
  const query = isAll ? first : second;
  if (query !== undefined && !(isAll && second !== undefined) && (isAll || options.cwd === undefined)) {
    return query;
  }
  throw new BonsaiError({
    code: "wrong_usage",
    message: isAll
      ? "bonsai search --all takes one query, and no session."
      : options.cwd !== undefined
        ? "--cwd chooses among all sessions: it goes with --all."
        : "bonsai search takes a session and a query.",
    hint: "Say `bonsai search SESSION QUERY`, or `bonsai search --all QUERY`.",
  });
}

/** In a thread of its own, for an expression may take for ever. Undefined where the user ends it. */
async function expressionHits(
  session: Session,
  query: string,
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<SearchHit[] | undefined> {
  const worker = new ExpressionWorker(searchExpression(query));
  const name = session.file ?? "this session";
  try {
    const hits = searchEntriesWith(session, (texts) => worker.find({ texts, name, signal }));
    return await firstHits(hits, limit);
  } catch (error) {
    if (signal.aborted && error === signal.reason) return undefined;
    throw error;
  } finally {
    worker.close();
  }
}

async function firstHits(
  hits: Iterable<SearchHit> | AsyncIterable<SearchHit>,
  limit: number,
): Promise<SearchHit[]> {
  const first: SearchHit[] = [];
  for await (const hit of hits) {
    if (first.length >= limit) break;
    first.push(hit);
  }
  return first;
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
  if (hits.length === 0) return [[`Nothing matches ${JSON.stringify(query)}.`]];
  const rows = hits.map((hit): Line[] => {
    const kind = kindWord(hit.role ?? hit.type);
    const place = hit.onActivePath ? span("●", "green") : span("○", "gray");
    return [[span(hit.entryId, "gray")], [place], [span(kind, kindStyle(kind))], [oneLine(hit.snippet)]];
  });
  const found = span(counted(hits.length, "hit"), "bold");
  return [
    ...table(rows, { columns: [{}, {}, {}, { flexible: true }], width }),
    [],
    [found, more ? span("  and more (--limit shows them)", "gray") : ""],
  ];
}
