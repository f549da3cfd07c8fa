import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { estimateTokens, isRecord, type Message } from "@bonsai-agent/messages";
import { openSession } from "@bonsai-agent/session";
import { type CompactionSettings, runCompaction } from "../src/index.ts";
import { isFactShown, isShownAsCurrent, normal } from "./fact-windows.ts";

// Sessions with facts that a compaction should keep. Their README says how they are scored; this is the same score.

const FOLDER = fileURLToPath(new URL("annotated", import.meta.url));
const SUFFIX = ".facts.json";

export interface Fact {
  kind: string;
  /** The fact in one sentence. */
  text: string;
  /** The entry that states it. */
  stated: string;
  /** The entry that makes it outdated. */
  cleared?: string;
  /** Groups of words; a window with one of each group shows the fact. */
  must: string[][];
  clearedWords?: string[];
}

interface PathEntry {
  type: string;
  id: string;
  parentId: string | null;
  message?: Message;
}

export interface AnnotatedSession {
  name: string;
  language: string;
  header: string;
  entries: PathEntry[];
  /** Entries after which a compaction happens. */
  checkpoints: string[];
  facts: Fact[];
}

/** Counts of facts; they can be added up. */
export interface FactScore {
  /** Facts that hold and were stated before the kept part, so that only the summary can show them. */
  old: number;
  oldShown: number;
  /** All facts that hold. */
  all: number;
  allShown: number;
  /** Outdated facts that the summary shows as current. */
  stale: number;
  /** Outdated facts that the context never marks as outdated. */
  unanswered: number;
  summaryTokens: number;
  compactions: number;
}

/** The sessions in the folder, or those with these names. */
export function annotatedSessions(only?: readonly string[]): AnnotatedSession[] {
  const names = only?.map((name) => `${name}${SUFFIX}`) ?? readdirSync(FOLDER).sort();
  return names
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => {
      const lines = readFileSync(join(FOLDER, name.replace(SUFFIX, ".jsonl")), "utf8")
        .trimEnd()
        .split("\n");
      const { language, checkpoints, facts } = JSON.parse(readFileSync(join(FOLDER, name), "utf8"));
      const [header = "", ...entries] = lines;
      return {
        name: name.replace(SUFFIX, ""),
        language,
        header,
        entries: entries.map((line) => JSON.parse(line)),
        checkpoints,
        facts,
      };
    });
}

/** Joins several sessions into one, with all their facts and checkpoints. */
export function chainedSession(parts: readonly AnnotatedSession[]): AnnotatedSession {
  const [first] = parts;
  let leaf: string | null = null;
  const all = parts.map(({ entries, checkpoints, facts }, part) => {
    const named = (id: string) => `${part}-${id}`;
    const index = pathIndex(entries);
    const own = entries.filter(({ id }) => index.has(id));
    return {
      entries: own.map((entry): PathEntry => {
        const chained = { ...entry, id: named(entry.id), parentId: leaf };
        leaf = chained.id;
        return chained;
      }),
      checkpoints: checkpoints.map(named),
      facts: facts
        .filter(({ stated }) => index.has(stated))
        .map((fact) => ({
          ...fact,
          stated: named(fact.stated),
          ...(fact.cleared !== undefined && { cleared: named(fact.cleared) }),
        })),
    };
  });
  return {
    ...first!,
    entries: all.flatMap(({ entries }) => entries),
    checkpoints: all.flatMap(({ checkpoints }) => checkpoints),
    facts: all.flatMap(({ facts }) => facts),
  };
}

/** Plays a session to each checkpoint, compacts it there, and scores the context. */
export async function scoreSession(
  annotated: AnnotatedSession,
  settings: CompactionSettings,
  contextWindow: number | undefined,
): Promise<FactScore> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-annotated-"));
  try {
    const file = join(folder, "session.jsonl");
    writeFileSync(file, `${annotated.header}\n`);
    const index = pathIndex(annotated.entries);
    const scores: FactScore[] = [];
    let firstKept = 0;
    let appended = 0;
    for (const checkpoint of annotated.checkpoints) {
      appended = appendUpTo(file, { ...annotated, checkpoint, appended });
      const session = openSession(file);
      const { firstKeptEntryId, status } = await runCompaction({
        session,
        settings,
        ...(contextWindow !== undefined && { model: { contextWindow } }),
      });
      const messages = session.projection().items.map(({ message }) => message);
      session.close();
      if (status === "compacted") firstKept = index.get(firstKeptEntryId ?? "") ?? Number.POSITIVE_INFINITY;
      scores.push(scoreContext(annotated.facts, messages, { index, at: index.get(checkpoint)!, firstKept }));
    }
    return sumScores(scores);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function sumScores(scores: readonly FactScore[]): FactScore {
  const sum = (of: keyof FactScore) => scores.reduce((total, score) => total + score[of], 0);
  return {
    old: sum("old"),
    oldShown: sum("oldShown"),
    all: sum("all"),
    allShown: sum("allShown"),
    stale: sum("stale"),
    unanswered: sum("unanswered"),
    summaryTokens: sum("summaryTokens"),
    compactions: sum("compactions"),
  };
}

/** Positions of the entries on the path to the last one. */
export function pathIndex(entries: readonly PathEntry[]): Map<string, number> {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: string[] = [];
  for (let entry = entries.at(-1); entry !== undefined; entry = byId.get(entry.parentId ?? ""))
    path.unshift(entry.id);
  return new Map(path.map((id, at) => [id, at]));
}

interface NextPart extends AnnotatedSession {
  checkpoint: string;
  /** Entries that the file has already. */
  appended: number;
}

/** Appends the entries up to the checkpoint below the file's last line. Returns the number of all entries in the file. */
function appendUpTo(file: string, { entries, checkpoint, appended }: NextPart): number {
  const leaf = JSON.parse(readFileSync(file, "utf8").trimEnd().split("\n").at(-1)!).id;
  const former = entries[appended - 1]?.id;
  const end = entries.findIndex(({ id }) => id === checkpoint) + 1;
  const lines = entries
    .slice(appended, end)
    .map((entry) => JSON.stringify(entry.parentId === former ? { ...entry, parentId: leaf } : entry));
  appendFileSync(file, `${lines.join("\n")}\n`);
  return end;
}

interface Moment {
  index: ReadonlyMap<string, number>;
  at: number;
  firstKept: number;
}

function scoreContext(facts: readonly Fact[], messages: readonly Message[], moment: Moment): FactScore {
  const { index, at, firstKept } = moment;
  const shown = normal(messages.map(shownText).join("\n\n"));
  const summaries = messages.filter(({ role }) => /summary/i.test(role)).map(shownText);
  const summary = normal(summaries.join("\n\n"));
  const placeOf = (id: string | undefined) => (id === undefined ? Number.POSITIVE_INFINITY : index.get(id)!);
  const stated = facts.filter((fact) => placeOf(fact.stated) <= at);
  const [outdated, current] = [
    stated.filter((fact) => placeOf(fact.cleared) <= at),
    stated.filter((fact) => placeOf(fact.cleared) > at),
  ];
  const old = current.filter((fact) => placeOf(fact.stated) < firstKept);
  const isShown = ({ must }: Fact) => isFactShown(shown, must);
  return {
    old: old.length,
    oldShown: old.filter(isShown).length,
    all: current.length,
    allShown: current.filter(isShown).length,
    stale: outdated.filter((fact) => isShownAsCurrent(summary, fact).somewhere).length,
    unanswered: outdated.filter((fact) => isShownAsCurrent(shown, fact).everywhere).length,
    summaryTokens: estimateTokens(summary),
    compactions: 1,
  };
}

/** The whole text of a message that a model reads. */
function shownText(message: Message): string {
  const { summary, content, command, output } = message as unknown as Record<string, unknown>;
  const blocks = Array.isArray(content) ? content.filter(isRecord).flatMap(blockTexts) : [content];
  return [summary, ...blocks, command, output].filter((text) => typeof text === "string").join("\n");
}

function blockTexts({ type, text, thinking, name, arguments: fields }: Record<string, unknown>): unknown[] {
  if (type === "toolCall") return [name, ...leaves(fields)];
  return type === "text" ? [text] : type === "thinking" ? [thinking] : [];
}

function leaves(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return value === null ? [] : [String(value)];
  return Object.values(value).flatMap(leaves);
}
