import {
  compactionSettings,
  digestSummariser,
  pinnedTexts,
  summariseEntries,
} from "@bonsai-agent/compaction";
import { BonsaiError, readableSummary, type SecretFilter } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { isLeafRecord } from "@bonsai-agent/session/host";
import { z } from "zod";
import { resolveEntryId } from "../call/session-file.ts";
import { branchDiffReport, branchDiffView } from "../views/branch-diff.ts";
import { renderLine } from "../views/line.ts";
import { pageOf } from "./answer.ts";
import { agentNames, type KnownSession, type KnownSessions, sessionWords } from "./known-sessions.ts";

const session = z.string().optional().describe("Id of the session. Default: this conversation.");
const page = z.number().int().min(1).optional().describe("Page of a long answer. Default: 1.");

export const carryOverInput = z.object({ session, page });

/** The entries that hide or change others; without them, the whole path counts. */
const VIEW_CHANGES: ReadonlySet<string> = new Set(["compaction", "context_edit"]);

/** The digest and carry-over of a session's whole path, whatever its compactions kept. */
export async function carryOver(
  opened: Session,
  known: KnownSession,
  { signal, page: wanted }: { signal: AbortSignal; page?: number | undefined },
): Promise<string> {
  const entries = opened.path().filter(({ type }) => !VIEW_CHANGES.has(type));
  if (!entries.some(({ type }) => type === "message"))
    throw new BonsaiError({
      code: "nothing_to_compact",
      message: `Session ${known.id} has no messages.`,
      hint: "Find other sessions with list_sessions.",
    });
  const { summary } = await summariseEntries({ entries, summariser: digestSummariser(), signal });
  const pins = pinnedTexts(opened);
  const pinned = pins.length === 0 ? [] : ["## Pinned", ...pins];
  const body = pageOf([readableSummary(summary), ...pinned].join("\n\n"), wanted);
  return `Session ${sessionWords(known)}\n\n${body}`;
}

export const branchDiffInput = z.object({
  session,
  a: z.string().optional().describe("End of the first branch: an entry id or label."),
  b: z.string().optional().describe("End of the second branch. Default: the current position."),
  page,
});

const WIDTH = 140;
const MAX_ENDS = 20;

/** Compares two branches. Without names, the session's only two. */
export function branchDiff(
  opened: Session,
  known: KnownSession,
  options: Omit<z.infer<typeof branchDiffInput>, "session"> & { secrets: SecretFilter; nowMs: number },
): string {
  const { secrets, nowMs } = options;
  const [a, b] = sides(opened, options);
  const settings = compactionSettings({});
  const report = branchDiffReport({ session: opened, settings, a, b, isFree: () => false, secrets });
  const lines = [...branchDiffView({ report, width: WIDTH, nowMs })].map((line) => renderLine(line, false));
  return `Session ${sessionWords(known)}\n\n${pageOf(lines.join("\n"), options.page)}`;
}

function sides(
  opened: Session,
  { a, b }: { a?: string | undefined; b?: string | undefined },
): [string, string | null] {
  const end = b === undefined ? opened.leafId : resolveEntryId(opened, b);
  if (a !== undefined) return [resolveEntryId(opened, a), end];
  const others = branchEnds(opened).filter((id) => id !== end);
  if (others.length === 1) return [others[0]!, end];
  throw new BonsaiError({
    code: "wrong_usage",
    message:
      others.length === 0
        ? "This session has only one branch."
        : `This session has ${others.length} other branches.`,
    hint:
      others.length === 0
        ? "There is nothing to compare."
        : `Set the argument a to one of ${others.slice(-MAX_ENDS).join(", ")}${others.length > MAX_ENDS ? ", or an older one" : ""}.`,
  });
}

/** The entries without a child, in file order. */
function branchEnds(opened: Session): string[] {
  const entries = opened.entries().filter((entry) => !isLeafRecord(entry));
  const parents = new Set(entries.map(({ parentId }) => parentId));
  return entries.filter(({ id }) => !parents.has(id)).map(({ id }) => id);
}

export const listInput = z.object({
  folder: z.string().optional().describe("List only sessions of this working folder and its subfolders."),
  agent: z.enum(["bonsai", "claude-code", "codex", "opencode", "gemini", "qwen", "pi"]).optional(),
  limit: z.number().int().min(1).max(50).optional().describe("Sessions on a page. Default: 20."),
  page,
});

export const listOutput = z.object({
  sessions: z.array(
    z.object({
      session: z.string(),
      agent: z.string(),
      title: z.string().optional(),
      folder: z.string().optional(),
      started: z.string().optional(),
      lastActivity: z.string(),
      bytes: z.number().optional(),
    }),
  ),
  /** True if there is a next page. */
  more: z.boolean(),
});

type Listed = z.infer<typeof listOutput>;

const DEFAULT_ROWS = 20;

/** Lists sessions, latest change first. Reads only the files of the shown pages. */
export function listSessions(known: KnownSessions, input: z.infer<typeof listInput>): Listed {
  const { folder, agent, limit = DEFAULT_ROWS, page: wanted = 1 } = input;
  const isIn = ({ cwd }: KnownSession) =>
    folder === undefined || cwd === folder || cwd?.startsWith(`${folder.replace(/[/\\]$/, "")}/`) === true;
  const sessions: Listed["sessions"] = [];
  let left = (wanted - 1) * limit;
  for (const session of known.all()) {
    if ((agent !== undefined && session.agent !== agent) || !isIn(session)) continue;
    left -= 1;
    if (left >= 0) continue;
    if (sessions.length === limit) return { sessions, more: true };
    sessions.push(rowOf(session));
  }
  return { sessions, more: false };
}

function rowOf({ id, agent, title, cwd, startedMs, modifiedMs, path, ...size }: KnownSession) {
  return {
    session: id,
    agent: agentNames[agent],
    ...(title !== undefined && { title }),
    ...(cwd !== undefined && { folder: cwd }),
    ...(startedMs !== undefined && { started: new Date(startedMs).toISOString() }),
    lastActivity: new Date(modifiedMs).toISOString(),
    // A database has several sessions.
    ...(!path.endsWith(".db") && { bytes: size.bytes }),
  };
}
