import { type Calibration, tokensText } from "@bonsai-agent/messages";
import { count as digits } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry, Entry } from "@bonsai-agent/session";
import type { LossReport } from "../carry/loss.ts";

/** Why a compaction was asked for. */
export type CompactionReason = "threshold" | "overflow" | "manual";

/** A step of the ladder: what was tried to make the context smaller. */
export type RungName = "mask" | "extension" | "summarise" | "chunks" | "digest" | "media" | "truncate";

/** True for a step that asks a model. */
export function isModelRung(rung: RungName | undefined): boolean {
  return rung === "summarise" || rung === "chunks";
}

/** What a compaction did, step by step; each a number of messages. */
export interface CompactionSteps {
  /** Old outputs of tools and of commands that were replaced by a placeholder. */
  masked: number;
  summarised: number;
  /** Messages whose images were left out. */
  withoutMedia: number;
  /** Outputs, or pasted texts, that were cut to head and tail. */
  shortened: number;
}

/** How one call of the controller ended. */
export interface CompactionOutcome {
  status: "compacted" | "masked" | "skipped" | "cancelled" | "failed";
  reason: CompactionReason;
  /** One sentence for people. */
  detail: string;
  /** Of the whole request: system prompt and tools with it, as far as they are known. */
  tokensBefore: number;
  /** The estimated part of `tokensBefore`; 0 where a provider reported all of it. */
  estimatedTokensBefore: number;
  /** Of the same, with the summary and all that it carries: always an estimate. The same as before where nothing changed. */
  tokensAfter: number;
  /** With the status `compacted` or `masked`. */
  steps?: CompactionSteps;
  /** The extension that did not let it happen, or whose summary stands; absent where none had a say. */
  decidedBy?: string;
  /** With the status `skipped`: the whole context is recent enough to be kept. */
  isAllRecent?: true;
  /** With the status `cancelled`, where the user has looked at it and said no. */
  isDeclined?: true;
  /** With the status `failed`, where a model's summary failed and the settings kept the digest from standing in. */
  digestIsUntried?: true;
  /** With the status `failed`: there was nothing to summarise, mask or cut. */
  isAtMinimum?: true;
}

/** "masked 5 old results, shortened 1 message": in the order in which it was done. */
export function stepsText({ masked, summarised, withoutMedia, shortened }: CompactionSteps): string {
  const done = [
    counted("masked", masked, "old result"),
    counted("summarised", summarised, "message"),
    counted("removed the images of", withoutMedia, "message"),
    counted("shortened", shortened, "message"),
  ];
  return done.filter((each) => each !== "").join(", ");
}

function counted(verb: string, count: number, noun: string): string {
  return count === 0 ? "" : `${verb} ${digits(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export { digits };

/** What somebody's code threw, in words. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The record inside a compaction entry of what was kept, masked, summarised and lost, and what it cost. */
export interface CompactionManifest {
  reason: CompactionReason;
  /** The focus that the user gave for the summary. Absent without one. */
  focus?: string | undefined;
  rung: RungName;
  tokensBefore: number;
  /** The estimated part of `tokensBefore`. Absent in older records. */
  estimatedTokensBefore?: number | undefined;
  tokensAfter: number;
  splitTurn: boolean;
  summarised: EntryRange;
  turnPrefix: EntryRange;
  kept: EntryRange;
  /** Entries whose content a mask replaced in the kept part. */
  masked: string[];
  /** What the kept part lost beyond masks. */
  lost: { media: string[]; truncated: string[] };
  /** What the summary carries of the user's words and of the index of terms. */
  carried?: CarriedCounts | undefined;
  /** What the summary left out, and what of that was put back; absent where it was not checked. */
  loss?: LossReport | undefined;
  /** True where the user has edited the summary's prose before it was written. */
  isEdited?: boolean;
  /** True where it was made of a snapshot while the agent worked on; absent else. */
  isBackground?: boolean;
  /** True where `compaction.economy` alone spoke for it: the context was below the threshold; absent else. */
  isEconomic?: boolean;
  /** The compaction whose summary this one updated. */
  previousCompactionId?: string | undefined;
  /** Requests to the summariser, answers that were refused included. */
  requests: number;
  /** Absent where nobody knows what these requests cost; older records have 0 then. */
  costUsd?: number | undefined;
  /** What the session's usage had taught about its tokens; a compaction takes the evidence away. */
  calibration?: Calibration | undefined;
  /** True where the calibration holds nothing that only a refusal claimed; absent in older records. */
  isMeasured?: boolean;
  /** What was asked for: a later compaction that asks for less may go on from here. */
  settings: ManifestSettings;
  /** What was in force where the context was cut, for an opening that reads only the tail. */
  state: { provider?: string; modelId?: string; thinkingLevel?: string };
}

/** What a summary carries as data. */
export interface CarriedCounts {
  /** Messages of the user that stand in the summary in their own words. */
  words: number;
  /** Those that there was no room for. */
  wordsLeftOut: number;
  /** Terms that the record knows; the index shows the most used ones. */
  knownTerms: number;
}

/** The settings of a compaction, sizes as scaled to the window. */
interface ManifestSettings {
  preset: string;
  estimator: string;
  keepTokens: number;
  reserveTokens: number;
  /** Absent where the window was unknown. */
  windowTokens?: number | undefined;
}

/** Messages of the context, as a range: ids would grow with the session. */
export interface EntryRange {
  count: number;
  first?: string;
  last?: string;
}

/** The manifest of a compaction that we wrote; any part of it may be missing or damaged. */
export function manifestOf(compaction: CompactionEntry | undefined): Partial<CompactionManifest> | undefined {
  const { manifest } = ownDetails(compaction);
  return typeof manifest === "object" && manifest !== null ? manifest : undefined;
}

/** How large the context was before a compaction, with its unit; undefined where that is damaged. */
export function sizeBeforeText(compaction: CompactionEntry): string | undefined {
  const { tokensBefore } = compaction;
  if (!Number.isFinite(tokensBefore)) return undefined;
  return tokensText(tokensBefore, Number(manifestOf(compaction)?.estimatedTokensBefore) > 0);
}

/** The details of a summary that was made here; nothing of an extension's own. */
export function ownDetails(entry: Entry | undefined): Record<string, unknown> {
  if (entry?.type !== "compaction" && entry?.type !== "branch_summary") return {};
  const { details } = entry;
  if (typeof details !== "object" || details === null) return {};
  return entry.fromHook && !isMadeHere(details) ? {} : (details as Record<string, unknown>);
}

/** True for details that go with a summary of ours: an extension can have one made and hand it in as its own. */
export function isMadeHere(details: unknown): details is { prose: string; recentFiles: unknown[] } {
  const { prose, recentFiles } = (details ?? {}) as Record<string, unknown>;
  return typeof prose === "string" && Array.isArray(recentFiles);
}

/** The texts of a stored list; what else stands there is damage. */
export function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
