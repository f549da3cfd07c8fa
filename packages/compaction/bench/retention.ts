import { estimateTokens } from "@bonsai-agent/messages";
import type { Plant, PlantedSession, PlantKind } from "@bonsai-agent/testkit";
import type { CompactionSettings } from "../src/index.ts";
import { type Context, type MakeSummary, PlayedSession } from "./played-session.ts";

/** The plants that a context shows, and the ended ones that it shows as current. */
export interface Retention {
  compactions: number;
  /** Over all current plants. */
  all: Share;
  /** Over the current plants that the kept tail does not show. */
  beyondTail: Share;
  kinds: Partial<Record<PlantKind, Share>>;
  lost: Plant[];
  /** Ended plants that read as current. */
  contradictions: Plant[];
  summaryTokens: number;
}

/** Weights. Shares of several sessions can be added up. */
export interface Share {
  seen: number;
  planted: number;
}

export interface MeasureRetentionOptions {
  settings: CompactionSettings;
  /** Numbers of compactions after which to look. */
  after: readonly number[];
  /** Other contexts to look at, by name: the same tail after another text. */
  others?: Readonly<Record<string, MakeSummary>>;
}

/** By name of the context. `DIGEST` is the context of the real flow. */
export type Retentions = Map<string, Retention[]>;
export const DIGEST = "bonsai's digest";

/** Plays a planted session through the real compaction flow, one compaction after each stretch of work. */
export async function measureRetention(
  planted: PlantedSession,
  { settings, after, others = {} }: MeasureRetentionOptions,
): Promise<Retentions> {
  const session = new PlayedSession();
  const retentions: Retentions = new Map([DIGEST, ...Object.keys(others)].map((name) => [name, []]));
  let from = 0;
  for (const [stretch, end] of planted.stretches.slice(0, Math.max(...after)).entries()) {
    session.add(planted.messages.slice(from, end));
    from = end;
    await session.compact(settings);
    if (!after.includes(stretch + 1)) continue;
    const look = (name: string, context: Context): void => {
      const moment = { compactions: stretch + 1, messageCount: end };
      retentions.get(name)!.push(retentionOf(planted.plants, context, moment));
    };
    look(DIGEST, session.context());
    for (const [name, make] of Object.entries(others)) look(name, session.contextWith(make));
  }
  return retentions;
}

/** Finds the plants that a context shows, and the ended ones that it shows as current. */
export function retentionOf(
  plants: readonly Plant[],
  context: Context,
  { compactions, messageCount }: { compactions: number; messageCount: number },
): Retention {
  const said = plants.filter((plant) => plant.at < messageCount);
  const hasEnded = ({ ended }: Plant): boolean => ended !== undefined && ended.at < messageCount;
  const current = said.filter((plant) => !hasEnded(plant));
  const shown = normal(`${context.summary}\n${context.tail}`);
  const tail = normal(context.tail);
  const isSeen = ({ key }: Plant): boolean => shown.includes(normal(key));
  const shareOf = (some: readonly Plant[]): Share => ({
    seen: weight(some.filter(isSeen)),
    planted: weight(some),
  });
  const kinds = [...new Set(current.map(({ kind }) => kind))];
  return {
    compactions,
    all: shareOf(current),
    beyondTail: shareOf(current.filter(({ key }) => !tail.includes(normal(key)))),
    kinds: Object.fromEntries(
      kinds.map((kind) => [kind, shareOf(current.filter((plant) => plant.kind === kind))]),
    ),
    lost: current.filter((plant) => !isSeen(plant)),
    contradictions: said.filter((plant) => hasEnded(plant) && isShownAsCurrent(shown, plant)),
    summaryTokens: estimateTokens(context.summary),
  };
}

/** The share over several sessions; undefined if nothing was planted. */
export function meanShare(shares: readonly Share[]): number | undefined {
  const sum = (pick: (share: Share) => number): number =>
    shares.reduce((total, share) => total + pick(share), 0);
  const planted = sum((share) => share.planted);
  return planted === 0 ? undefined : sum((share) => share.seen) / planted;
}

/**
 * True if an ended plant reads as current: its last mention has no mention of its end after it. Quoting an ended plant
 * is right if its end follows, because a reader then knows which of both counts. Both mentions can share a place: in
 * "[x] step", the tick ends where the step does.
 */
function isShownAsCurrent(shown: string, { key, ended }: Plant): boolean {
  const stale = normal(key);
  const at = shown.lastIndexOf(stale);
  if (at === -1) return false;
  return !ended!.mends.map(normal).some((mend) => {
    const mendAt = shown.lastIndexOf(mend);
    return mendAt !== -1 && mendAt + mend.length >= at + stale.length;
  });
}

/** The text without marks of quotation and emphasis, with uniform white space and case. */
function normal(text: string): string {
  return text
    .replace(/[`*“”"\\]/g, "")
    .replace(/\s+/g, " ")
    .toLowerCase();
}

function weight(plants: readonly Plant[]): number {
  return plants.reduce((total, plant) => total + plant.weight, 0);
}
