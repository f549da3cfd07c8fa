import { estimateTokens } from "@bonsai-agent/messages";
import type { Plant, PlantedSession, PlantKind } from "@bonsai-agent/testkit";
import type { CompactionSettings } from "../src/index.ts";
import { type Context, type MakeSummary, PlayedSession } from "./played-session.ts";

/** What of a planted session is seen, and what is shown though it has ended. */
export interface Retention {
  compactions: number;
  /** Of all that holds. */
  all: Share;
  /** Of what the kept tail does not show by itself. */
  beyondTail: Share;
  kinds: Partial<Record<PlantKind, Share>>;
  lost: Plant[];
  /** What has ended and reads as if it held. */
  contradictions: Plant[];
  summaryTokens: number;
}

/** Weights, which can be added up over sessions. */
export interface Share {
  seen: number;
  planted: number;
}

export interface MeasureRetentionOptions {
  settings: CompactionSettings;
  /** After which compactions to look. */
  after: readonly number[];
  /** Other contexts to look at, by name: the same tail with another text in front. */
  others?: Readonly<Record<string, MakeSummary>>;
}

/** By name of the context; that of the real flow is `DIGEST`. */
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

/** Which of the plants are seen in a context, and which are shown though they have ended. */
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

/** The share of the weights of several sessions; none where nothing was planted. */
export function meanShare(shares: readonly Share[]): number | undefined {
  const sum = (pick: (share: Share) => number): number =>
    shares.reduce((total, share) => total + pick(share), 0);
  const planted = sum((share) => share.planted);
  return planted === 0 ? undefined : sum((share) => share.seen) / planted;
}

/**
 * Whether something that has ended reads as if it held. To quote it is right as long as what ended it is quoted too, and
 * later: whoever reads from the front to the end then knows which of both holds. So it counts where its last mention has
 * no mention of its end behind it. Both can be one place: in "[x] step" the tick ends where the step does.
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

/** Without marks of quotation and emphasis, white space made equal. */
function normal(text: string): string {
  return text
    .replace(/[`*“”"\\]/g, "")
    .replace(/\s+/g, " ")
    .toLowerCase();
}

function weight(plants: readonly Plant[]): number {
  return plants.reduce((total, plant) => total + plant.weight, 0);
}
