import { lossLines, manifestOf, summaryLoss, summarySources } from "@bonsai-agent/compaction";
import type { SummaryEntry } from "@bonsai-agent/compaction/host";
import { CostSum, costText, isRecord, type Message, tokenEstimator } from "@bonsai-agent/messages";
import { readableLines } from "@bonsai-agent/messages/host";
import { tokenDigits, usdText } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry, Entry, ProjectionItem, Session } from "@bonsai-agent/session";
import type { MapRun, SummaryBody } from "./page-data.ts";

/** The session around a summary. */
export interface OpenedSession {
  session: Session;
  /** The row of an id; -1 for none. */
  rowOf: (id: string) => number;
  shown: <Shown extends Entry>(entry: Shown) => Shown;
}

/** A compaction or a branch summary, opened. @param entry as it is shown */
export function summaryBody({ session, rowOf, shown }: OpenedSession, entry: SummaryEntry): SummaryBody {
  const rows = (ids: readonly string[]) => ids.map(rowOf).filter((row) => row >= 0);
  const stored = summarySources(session, entry).map(({ text, entryIds, isMatched }) => ({
    text,
    rows: rows(entryIds),
    isMatched,
  }));
  const lines = readableLines(stored.map(({ text }) => text).join("\n"));
  const body: SummaryBody = {
    lines: lines.map(({ at, text, isHeading }) => ({ ...stored[at]!, text, isHeading })),
    loss: [],
    facts: summaryFacts(entry),
    before: [],
    after: [],
  };
  if (entry.type !== "compaction") return body;
  const above = entry.parentId === null ? undefined : session.entry(entry.parentId);
  const recorded = summaryLoss(entry, above && shown(above));
  body.loss = lossLines(recorded).map(({ text }) => ({
    text,
    rows: rows(
      (recorded.loss?.lostTerms ?? []).flatMap(({ term, entryId }) =>
        entryId && text.includes(term) ? [entryId] : [],
      ),
    ),
  }));
  return { ...body, ...compactionMap(session, entry, rowOf) };
}

/** Tokens after a compaction, where its maker wrote them down. */
export function tokensAfter(entry: Entry): number | undefined {
  const after = entry.type === "compaction" ? manifestOf(entry)?.tokensAfter : undefined;
  return typeof after === "number" ? after : undefined;
}

const reasons: Readonly<Record<string, string>> = {
  threshold: "The context reached the threshold",
  overflow: "The provider rejected the request as too large",
  manual: "Requested",
};

const rungs: Readonly<Record<string, string>> = {
  mask: "Masked old results",
  extension: "Summary from an extension",
  provider: "Summary from the provider, on its side",
  summarise: "Summary from a model",
  chunks: "Summary from a model, in parts",
  digest: "Digest, without a model",
  media: "Removed images",
  truncate: "Cut long outputs",
};

function summaryFacts(entry: SummaryEntry): Array<[string, string]> {
  const facts: Array<[string, string]> = [];
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== "") facts.push([name, value]);
  };
  const manifest = entry.type === "compaction" ? (manifestOf(entry) ?? {}) : {};
  add(
    "Why",
    manifest.isEconomic === true ? "To save money, before the threshold" : reasons[String(manifest.reason)],
  );
  add("Decided by", decidedBy(entry, manifest.reason, manifest.isEdited === true));
  add("How", rungs[String(manifest.rung)]);
  if (entry.type === "compaction") add("Before", tokens(entry.tokensBefore));
  add("After", tokens(manifest.tokensAfter));
  add("Summarised", range(manifest.summarised));
  add("Summarised from the current turn", range(manifest.turnPrefix));
  add("Kept", range(manifest.kept));
  add("Masked", results(manifest.masked));
  const { provider, modelId } = isRecord(manifest.state) ? manifest.state : {};
  add("Agent's model", typeof modelId === "string" ? `${provider}/${modelId}` : undefined);
  const { requests } = manifest;
  add("Summary requests", typeof requests === "number" && requests > 0 ? String(requests) : undefined);
  add("Cost", costOf(entry, manifest.costUsd));
  const preset = isRecord(manifest.settings) ? manifest.settings.preset : undefined;
  add("Preset", typeof preset === "string" ? preset : undefined);
  if (entry.type === "branch_summary") add("Branch", entry.isMerge === true ? "merged" : "left");
  return facts;
}

function decidedBy(entry: SummaryEntry, reason: unknown, isEdited: boolean): string {
  if (entry.fromHook === true) return "An extension";
  if (isEdited) return "The user (edited the summary)";
  if (reason === "manual" || entry.type === "branch_summary") return "The user";
  if (reason === "threshold") return "The settings";
  if (reason === "overflow") return "The provider's limit";
  return "Unknown";
}

function costOf(entry: SummaryEntry, recorded: unknown): string | undefined {
  if (typeof recorded === "number" && Number.isFinite(recorded)) return usdText(recorded);
  const total: unknown = entry.usage?.cost?.total;
  if (typeof total !== "number" || !Number.isFinite(total)) return undefined;
  const sum = new CostSum();
  sum.add(entry.usage);
  return costText(sum.cost());
}

function tokens(value: unknown): string | undefined {
  return typeof value === "number" && Number.isFinite(value)
    ? `${tokenDigits(value, false)} tokens`
    : undefined;
}

function results(masked: unknown): string | undefined {
  if (!Array.isArray(masked) || masked.length === 0) return undefined;
  return `${masked.length} ${masked.length === 1 ? "result" : "results"}`;
}

function range(value: unknown): string | undefined {
  const number = isRecord(value) ? value.count : undefined;
  if (typeof number !== "number" || number === 0) return undefined;
  return `${number} ${number === 1 ? "message" : "messages"}`;
}

/** The context before and after a compaction, by the fate of each message. */
function compactionMap(
  session: Session,
  entry: CompactionEntry,
  rowOf: (id: string) => number,
): Pick<SummaryBody, "before" | "after"> {
  const before = session.projection(entry.parentId).items;
  const after = session.projection(entry.id).items;
  const kept = new Map(after.map((item) => [item.entryId, item]));
  const own = new Set(manifestMasks(entry));
  return {
    before: runs(before, rowOf, (item) => {
      const still = kept.get(item.entryId);
      if (still === undefined) return "summarised";
      return still.edit !== undefined && (item.edit === undefined || own.has(item.entryId))
        ? "masked"
        : "kept";
    }),
    after: runs(after, rowOf, (item) => {
      if (item.entryId === entry.id) return "summary";
      return item.edit === undefined ? "kept" : "masked";
    }),
  };
}

function manifestMasks(entry: CompactionEntry): string[] {
  const masked: unknown = manifestOf(entry)?.masked;
  return Array.isArray(masked) ? masked.filter((id) => typeof id === "string") : [];
}

function runs(
  items: readonly ProjectionItem[],
  rowOf: (id: string) => number,
  fateOf: (item: ProjectionItem) => MapRun["fate"],
): MapRun[] {
  const found: MapRun[] = [];
  for (const item of items) {
    const fate = fateOf(item);
    const latest = found.at(-1);
    const run = latest?.fate === fate ? latest : { fate, rows: [], tokens: 0 };
    if (run !== latest) found.push(run);
    run.rows.push(rowOf(item.entryId));
    run.tokens += tokenEstimator.message(item.message as Message);
  }
  return found;
}
