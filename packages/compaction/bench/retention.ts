import { byScript, type Message, messageText } from "@bonsai-agent/messages";
import { createSession, type Session } from "@bonsai-agent/session";
import type { Plant, PlantedSession, PlantKind } from "@bonsai-agent/testkit";
import { type CompactionSettingsInput, compactionSettings, runCompaction } from "../src/index.ts";
import { sketchOf, userMessages } from "./baselines.ts";

/** What is compared: who makes what stands before the kept tail. */
export interface Contender {
  name: string;
  /** The real flow with these settings; or text from the messages before the tail that the default settings keep. */
  by: CompactionSettingsInput | ((messages: readonly Message[]) => string);
}

/** The tail alone, with all user messages, and with a sketch of the user's and the agent's sentences. */
export const baselines: readonly Contender[] = [
  { name: "tail alone", by: () => "" },
  { name: "tail + all user messages", by: userMessages },
  { name: "tail + sketch", by: sketchOf },
];

/** What the model still sees after a number of compactions. Weights can be added up over sessions. */
export interface Retention {
  compactions: number;
  all: Share;
  /** Of what the kept tail does not show by itself. */
  beyondTail: Share;
  kinds: Partial<Record<PlantKind, Share>>;
  contradictions: number;
  /** All that stands before the tail. */
  summaryTokens: number;
  lost: Plant[];
  contradicting: Plant[];
  summary: string;
}

export interface Share {
  seen: number;
  planted: number;
}

export interface MeasureRetentionOptions {
  session: PlantedSession;
  contender: Contender;
  /** After which compactions to look. */
  after: readonly number[];
  keepRecentTokens: number;
}

const model = { contextWindow: 200_000 };

/** Plays a planted session through the real compaction flow, one compaction after each stretch of work. */
export async function measureRetention(options: MeasureRetentionOptions): Promise<Retention[]> {
  const { session: planted, contender, after, keepRecentTokens } = options;
  const isMade = typeof contender.by === "function";
  const settings = compactionSettings({ ...(isMade ? {} : contender.by), keepRecentTokens });
  const session = createSession({ cwd: "/home/dev/project" });
  const ids: string[] = [];
  const results: Retention[] = [];
  for (const [stretch, end] of planted.stretches.slice(0, Math.max(...after)).entries()) {
    for (const message of planted.messages.slice(ids.length, end)) ids.push(append(session, message));
    const result = await runCompaction({ session, settings, model });
    if (result.status !== "compacted")
      throw new Error(`Compaction ${stretch + 1}: ${result.status}, ${result.detail}`);
    if (!after.includes(stretch + 1)) continue;
    const context =
      typeof contender.by === "function"
        ? madeContext(contender.by, planted, ids, result.firstKeptEntryId)
        : sessionContext(session, ids);
    results.push(retentionOf(planted.plants, context, { compactions: stretch + 1, messageCount: end }));
  }
  return results;
}

/** What the model sees: what was made of the past, and what was kept of it. */
interface Context {
  summary: string;
  tail: string;
}

/** Whatever is not a message of ours stands in place of what went. */
function sessionContext(session: Session, ids: readonly string[]): Context {
  const own = new Set(ids);
  const items = session.projection().items;
  const textOf = (isOwn: boolean): string =>
    items
      .filter((item) => own.has(item.entryId) === isOwn)
      .map((item) => visibleText(item.message))
      .join("\n");
  return { summary: textOf(false), tail: textOf(true) };
}

function madeContext(
  make: (messages: readonly Message[]) => string,
  { messages }: PlantedSession,
  ids: readonly string[],
  firstKeptId: string | null,
): Context {
  const firstKept = firstKeptId === null ? ids.length : ids.indexOf(firstKeptId);
  const tail = messages.slice(firstKept, ids.length).map(visibleText).join("\n");
  return { summary: make(messages.slice(0, firstKept)), tail };
}

function append(session: Session, message: Message): string {
  return session.append({ type: "message", message: message as never }).id;
}

function retentionOf(
  plants: readonly Plant[],
  { summary, tail }: Context,
  { compactions, messageCount }: { compactions: number; messageCount: number },
): Retention {
  const said = plants.filter((plant) => plant.at < messageCount);
  const hasEnded = (plant: Plant): boolean => plant.ended !== undefined && plant.ended.at < messageCount;
  const current = said.filter((plant) => !hasEnded(plant));
  const shown = normal(`${summary}\n${tail}`);
  const shownByTail = normal(tail);
  const isSeen = (plant: Plant): boolean => shown.includes(normal(plant.key));
  const shareOf = (some: readonly Plant[]): Share => ({
    seen: weight(some.filter(isSeen)),
    planted: weight(some),
  });
  const kinds = new Set(current.map(({ kind }) => kind));
  const contradicting = said.filter((plant) => hasEnded(plant) && isShownAsCurrent(shown, plant));
  return {
    compactions,
    all: shareOf(current),
    beyondTail: shareOf(current.filter((plant) => !shownByTail.includes(normal(plant.key)))),
    kinds: Object.fromEntries(
      [...kinds].map((kind) => [kind, shareOf(current.filter((plant) => plant.kind === kind))]),
    ),
    contradictions: contradicting.length,
    summaryTokens: byScript(summary),
    lost: current.filter((plant) => !isSeen(plant)),
    contradicting,
    summary,
  };
}

/**
 * Whether something that has ended reads as if it held. Quoting it is right as long as what ended it is quoted too, and
 * later: whoever reads from the front to the end then knows which of both holds. So it counts where its last mention has
 * no mention of the end behind it. Both may be one: in "[x] step" the tick ends where the step does.
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

/** Message text with the arguments of calls, as the model sees them. */
function visibleText(message: Message): string {
  if (message.role !== "assistant") return messageText(message);
  const calls = message.content.filter((block) => block.type === "toolCall");
  return [
    messageText(message),
    ...calls.map((call) => `${call.name} ${JSON.stringify(call.arguments)}`),
  ].join("\n");
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
