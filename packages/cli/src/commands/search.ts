import { type SearchHit, searchEntries } from "@bonsai-agent/session";
import type { Invocation } from "../invocation.ts";
import { openNamedSession } from "../session-file.ts";
import { searchView } from "../views/search-view.ts";

const defaultLimit = 50;

/** Prints the hits in file order; `--json` the hits themselves. */
export async function run(invocation: Invocation): Promise<undefined> {
  const { args, options, output } = invocation;
  const query = args[1]!;
  const limit = typeof options.limit === "number" ? options.limit : defaultLimit;
  const session = openNamedSession(invocation);
  const found = firstHits(searchEntries(session, query, { regex: options.regex === true }), limit + 1);
  const hits = found.slice(0, limit);
  await output.list(
    () => hits,
    () => searchView({ hits, query, more: found.length > limit, width: output.width }),
  );
}

function firstHits(hits: Iterable<SearchHit>, limit: number): SearchHit[] {
  const first: SearchHit[] = [];
  for (const hit of hits) {
    if (first.length >= limit) break;
    first.push(hit);
  }
  return first;
}
