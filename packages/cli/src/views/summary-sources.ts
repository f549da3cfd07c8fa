import type { SummaryEntry, SummaryLine } from "@bonsai-agent/compaction/host";
import { readableLines } from "@bonsai-agent/messages/host";
import type { Entry, Session } from "@bonsai-agent/session";
import { liveCompactions } from "./compaction-record.ts";
import { moment } from "./numbers.ts";
import { callIn, kindOf, previewOf } from "./preview.ts";

/** A source of a summary line, for a list. */
export type SourceEntry = NonNullable<ReturnType<typeof sourceEntry>>;

/** Undefined for a damaged entry. */
export function sourceEntry(session: Session, entryId: string) {
  const entry = session.entry(entryId);
  if (entry === undefined) return undefined;
  const { timestamp = null } = entry as { timestamp?: string };
  return { entryId, kind: kindOf(entry), timestamp, preview: previewOf(entry, callIn(session, entry)) };
}

/** The readable lines of a summary, with the sources of the stored lines. */
export function readableSources<Line extends Pick<SummaryLine, "text">>(stored: readonly Line[]): Line[] {
  const summary = stored.map(({ text }) => text).join("\n");
  return readableLines(summary).map(({ text, at }) => ({ ...stored[at]!, text }));
}

const SHORT_ID = 8;

/** `000002ec result, 21 Nov 2025, 00:41`. */
export function sourceWords({ entryId, kind, timestamp }: SourceEntry, nowMs: number): string {
  return `${entryId.slice(0, SHORT_ID)} ${kind}, ${moment(Date.parse(timestamp ?? ""), nowMs)}`;
}

/** The valid compactions and branch summaries of the current path, newest first. */
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

function isSummary(entry: Entry | undefined): entry is SummaryEntry {
  return entry?.type === "compaction" || entry?.type === "branch_summary";
}
