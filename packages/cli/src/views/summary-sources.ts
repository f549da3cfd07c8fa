import type { SummaryEntry, SummaryLine } from "@bonsai-agent/compaction/host";
import { BonsaiError, SecretFilter } from "@bonsai-agent/messages";
import { readableLines } from "@bonsai-agent/messages/host";
import type { Entry, Session } from "@bonsai-agent/session";
import { liveCompactions } from "./compaction-record.ts";
import { moment } from "./numbers.ts";
import { callIn, kindOf, previewOf } from "./preview.ts";

/** An entry that a line of a summary rests on, for a list. */
export interface SourceEntry {
  entryId: string;
  /** In a word. */
  kind: string;
  /** ISO 8601; null where the entry does not say. */
  timestamp: string | null;
  /** On one line. */
  preview: string;
}

/** Undefined where the body of the entry is damaged. @param secrets redacts the preview. Default: it redacts nothing */
export function sourceEntry(
  session: Session,
  entryId: string,
  secrets = new SecretFilter([], false),
): SourceEntry | undefined {
  const entry = session.entry(entryId);
  if (entry === undefined) return undefined;
  const { timestamp = null } = entry as { timestamp?: string };
  const preview = previewOf(secrets.value(entry), secrets.value(callIn(session, entry)));
  return { entryId, kind: kindOf(entry), timestamp, preview };
}

/** The lines of a summary as a person reads them, with the sources of the stored lines. */
export function readableSources<Line extends Pick<SummaryLine, "text">>(stored: readonly Line[]): Line[] {
  const summary = stored.map(({ text }) => text).join("\n");
  return readableLines(summary).map(({ text, at }) => ({ ...stored[at]!, text }));
}

const SHORT_ID = 8;

/** `000002ec result, 21 Nov 2025, 00:41`. */
export function sourceWords({ entryId, kind, timestamp }: SourceEntry, nowMs: number): string {
  return `${entryId.slice(0, SHORT_ID)} ${kind}, ${moment(Date.parse(timestamp ?? ""), nowMs)}`;
}

/** The summaries on the current path: the compactions that count and what was taken along of other branches, newest first. */
export function summariesOf(session: Session): SummaryEntry[] {
  const index = session.index();
  const live = new Set(liveCompactions(session).map(({ id }) => id));
  const leaf = session.leafId === null ? -1 : index.find(session.leafId);
  const summaries: SummaryEntry[] = [];
  for (let at = leaf; at >= 0; at = index.parent(at)) {
    const type = index.type(at);
    const entry = type === "compaction" || type === "branch_summary" ? session.entryAt(at) : undefined;
    if (isSummary(entry) && (entry.type === "branch_summary" || live.has(entry.id))) summaries.push(entry);
  }
  return summaries;
}

/**
 * The summary that is meant: that of the latest compaction that counts, else of the latest branch that was left.
 * @param entryId of another one. Default: none
 * @throws BonsaiError `no_summary`
 */
export function namedSummary(session: Session, entryId?: string): SummaryEntry {
  if (entryId === undefined) {
    const summaries = summariesOf(session);
    return summaries.find(({ type }) => type === "compaction") ?? summaries[0] ?? noSummary(NONE_HERE);
  }
  const entry = session.entry(entryId);
  if (isSummary(entry)) return entry;
  return noSummary(
    `Entry ${entryId} is not a summary. ${entry === undefined ? "It is unreadable." : `Its kind is "${kindOf(entry)}".`}`,
  );
}

const NONE_HERE = "This branch has no summary yet.";

function isSummary(entry: Entry | undefined): entry is SummaryEntry {
  return entry?.type === "compaction" || entry?.type === "branch_summary";
}

function noSummary(message: string): never {
  throw new BonsaiError({
    /** The current branch has no summary, or `--entry` names another kind of entry. */
    code: "no_summary",
    message,
    hint: "Run `/compact` or `bonsai compact FILE` to create one. To see a summary of another branch, find its id with `bonsai session tree FILE --all` and pass `--entry ID`.",
  });
}
