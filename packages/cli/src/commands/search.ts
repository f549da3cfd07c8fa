import { ExpressionWorker } from "@bonsai-agent/agent";
import {
  type SearchHit,
  type Session,
  searchEntries,
  searchEntriesWith,
  searchExpression,
} from "@bonsai-agent/session";
import { ExitCode } from "../exit-code.ts";
import type { Invocation } from "../invocation.ts";
import { openNamedSession } from "../session-file.ts";
import { searchView } from "../views/search-view.ts";

const defaultLimit = 50;

/** Prints the hits in file order; `--json` the hits themselves. */
export async function run(invocation: Invocation): Promise<ExitCode | undefined> {
  const { args, options, output, io } = invocation;
  const query = args[1]!;
  const limit = typeof options.limit === "number" ? options.limit : defaultLimit;
  const session = openNamedSession(invocation);
  const found =
    options.regex === true
      ? await io.interruptible((signal) => expressionHits({ session, query, limit: limit + 1, signal }))
      : await firstHits(searchEntries(session, query), limit + 1);
  if (found === undefined) return ExitCode.cancelled;
  const hits = found.slice(0, limit);
  await output.list(
    () => hits,
    () => searchView({ hits, query, more: found.length > limit, width: output.width }),
  );
  return undefined;
}

interface ExpressionSearch {
  session: Session;
  query: string;
  limit: number;
  signal: AbortSignal;
}

/** In a thread of its own, for an expression may take for ever. Undefined where the user ends it. */
async function expressionHits(search: ExpressionSearch): Promise<SearchHit[] | undefined> {
  const { session, query, limit, signal } = search;
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
