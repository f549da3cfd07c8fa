import { byScript, type Message, messageText } from "@bonsai-agent/messages";
import { createSession, type Session } from "@bonsai-agent/session";
import {
  type Plant,
  type PlantedSession,
  type PlantedSessionOptions,
  plantedSession,
  type Trap,
} from "@bonsai-agent/testkit";
import { compactionSettings, runCompaction } from "../src/index.ts";

/** What the model still sees after a number of compactions. */
export interface Retention {
  compactions: number;
  /** Weights of plants before the kept tail: all, and those seen in the context, in the tail alone, … */
  plantedWeight: number;
  seenWeight: number;
  tailWeight: number;
  tailAndUserWeight: number;
  /** Tokens of the summary as the model sees it, and of its prose. */
  summaryTokens: number;
  proseTokens: number;
  tailAndUserTokens: number;
  lost: Plant[];
  /** Traps that the summary fell into. */
  fallen: Trap[];
  latestRequestKept: boolean;
  summary: string;
}

export interface MeasureOptions extends PlantedSessionOptions {
  /** After which compactions to look. */
  after: readonly number[];
  keepRecentTokens?: number;
}

/** Plays a planted session through the real compaction flow, one compaction after each stretch of work. */
export async function measureRetention(options: MeasureOptions): Promise<Retention[]> {
  const planted = plantedSession(options);
  const session = createSession({ cwd: "/home/dev/project" });
  const ids: string[] = [];
  const results: Retention[] = [];
  for (const [stretch, end] of planted.stretches.entries()) {
    for (const message of planted.messages.slice(ids.length, end)) ids.push(append(session, message));
    const settings = compactionSettings({ keepRecentTokens: options.keepRecentTokens ?? 4_000 });
    const result = await runCompaction({ session, settings });
    if (result.status !== "compacted")
      throw new Error(`Compaction ${stretch + 1}: ${result.status}, ${result.detail}`);
    if (!options.after.includes(stretch + 1)) continue;
    const firstKept = ids.indexOf(result.firstKeptEntryId ?? "");
    results.push(retention({ planted, compactions: stretch + 1, firstKept, seen: ids.length, session }));
  }
  return results;
}

function append(session: Session, message: Message): string {
  return session.append({ type: "message", message: message as never }).id;
}

function retention(of: {
  planted: PlantedSession;
  compactions: number;
  firstKept: number;
  seen: number;
  session: Session;
}): Retention {
  const { planted, firstKept, seen } = of;
  const items = of.session.projection().items;
  const summary = items.map((item) => item.message).find((message) => message.role === "compactionSummary");
  const summaryText = summary === undefined ? "" : messageText(summary);
  const tail = planted.messages.slice(firstKept, seen).map(visibleText).join("\n");
  const users = planted.messages
    .slice(0, firstKept)
    .filter((message) => message.role === "user")
    .map(messageText)
    .join("\n");
  const before = planted.plants.filter(
    (plant) => plant.at < firstKept && isCurrent(plant, planted.traps, firstKept),
  );
  const weight = (text: string): number => sum(before.filter((plant) => shows(text, plant.keep)));
  const request = planted.messages.slice(0, seen).findLast((message) => message.role === "user");
  const carried = `${summaryText}\n${tail}`;
  return {
    compactions: of.compactions,
    plantedWeight: sum(before),
    seenWeight: weight(carried),
    tailWeight: weight(tail),
    tailAndUserWeight: weight(`${tail}\n${users}`),
    summaryTokens: byScript(summaryText),
    proseTokens: byScript(summaryText.split(/<(?:pinned|read-files|modified-files|latest-request)>/)[0]!),
    tailAndUserTokens: byScript(users),
    lost: before.filter((plant) => !shows(carried, plant.keep)),
    fallen: planted.traps.filter((trap) => trap.from < firstKept && fallsInto(summaryText, trap)),
    latestRequestKept: request !== undefined && carried.includes(messageText(request)),
    summary: summaryText,
  };
}

function isCurrent(plant: Plant, traps: readonly Trap[], before: number): boolean {
  return !traps.some((trap) => trap.kind === "finished" && trap.from < before && trap.text === plant.keep);
}

/** Message text with the arguments of calls, as the model sees them. */
function visibleText(message: Message): string {
  return message.role === "assistant"
    ? JSON.stringify(message.content) + messageText(message)
    : messageText(message);
}

function shows(text: string, words: string): boolean {
  return normal(text).includes(normal(words));
}

function fallsInto(summary: string, trap: Trap): boolean {
  return summary
    .split("\n")
    .some(
      (line) =>
        hasWord(line, trap.text) &&
        !(trap.unless !== undefined && shows(line, trap.unless)) &&
        !line.startsWith("- [x]"),
    );
}

function hasWord(line: string, words: string): boolean {
  const text = normal(line);
  const wanted = normal(words);
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1))
    if (!/[\w]/.test(text[at - 1] ?? " ") && !/[\w]/.test(text[at + wanted.length] ?? " ")) return true;
  return false;
}

const normal = (text: string): string =>
  text
    .replace(/[`*_“”"]/g, (mark) => (mark === "_" ? mark : ""))
    .replace(/\s+/g, " ")
    .toLowerCase();
const sum = (plants: readonly Plant[]): number => plants.reduce((total, plant) => total + plant.weight, 0);
