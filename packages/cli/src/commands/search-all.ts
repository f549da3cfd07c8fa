import { existsSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { SecretFilter } from "@bonsai-agent/messages";
import { bonsaiHome, openSession } from "@bonsai-agent/session";
import {
  parseSearchQuery,
  type SearchFindings,
  type SessionHit,
  SessionSearch,
} from "@bonsai-agent/session/search";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { agentCallSettings } from "../call/settings.ts";
import { kindStyle, type Line, span, table } from "../views/line.ts";
import { age, counted } from "../views/numbers.ts";
import { kindWord } from "../views/preview.ts";
import { oneLine } from "../views/terminal-text.ts";

const defaultLimit = 50;
/** After this time, the search reads the remaining sessions from their files. */
const INDEXING_MS = 1500;

/** Prints the hits of all sessions, or of those of a folder, best first. */
export async function searchAll(invocation: Invocation, query: string): Promise<ExitCode | undefined> {
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
    () => hitsView({ ...found, hits }, query, { width: output.width, nowMs: io.now() }),
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
    // It was read for the hit a moment ago, but can be gone.
    if (existsSync(file)) secrets.learn(openSession(file).entries());
  }
}

/** Undefined where the user ends it. */
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

function hitsView(
  { hits, more }: SearchFindings,
  query: string,
  { width, nowMs }: { width: number; nowMs: number },
): Line[] {
  if (hits.length === 0) return [["No matches for ", JSON.stringify(query), "."]];
  const rows = hits.map((hit): Line[] => {
    const kind = kindWord(hit.role ?? hit.type);
    return [
      [span(sessionId(hit), "cyan")],
      [span(hit.entryId, "gray")],
      [span(age(hit.timeMs, nowMs), "gray")],
      [span(kind, kindStyle(kind))],
      [oneLine(hit.snippet)],
    ];
  });
  return [
    ...table(rows, { columns: [{}, {}, {}, {}, { flexible: true }], width }),
    [],
    [span(counted(hits.length, "hit"), "bold"), more ? span("  There are more: raise --limit.", "gray") : ""],
  ];
}

/** The beginning of a session's id, as recorded ones have it in their name. */
function sessionId({ file }: SessionHit): string {
  return basename(file, ".jsonl").replace(/^.*_/, "").slice(0, 8);
}
