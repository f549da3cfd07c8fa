import { resolve } from "node:path";
import { type Message, messageText, SecretFilter } from "@bonsai-agent/messages";
import { type Entry, type ProjectionItem, pinChange, project, type Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import { manifestOf } from "../carry/details.ts";
import { FileOperationCounter } from "../carry/files.ts";
import { recordOfItems } from "../carry/span-record.ts";
import { startsTurn } from "../plan/cut.ts";
import { type CommandRun, commandRuns } from "../record/command-runs.ts";
import type { UserWords } from "../record/words.ts";
import type { CompactionSettings } from "../settings.ts";
import { branchBetween, unknownPlace } from "./branch.ts";

export interface BranchDiffOptions {
  session: Session;
  /** Its limit of the user's words holds for each side. */
  settings: CompactionSettings;
  /** Where the one side ends; null for the place before every entry. */
  a: string | null;
  /** Where the other side ends. */
  b: string | null;
  /** Redacts words and commands. Default: one that knows no secret yet. */
  secrets?: SecretFilter | undefined;
}

/** Where two places of a session part, and what was done on the way to each since then. */
export interface BranchDiff {
  /**
   * `same`: one place; `ahead`: A comes after B, which has nothing of its own; `behind`: A is on the way to B; `parted`:
   * both have something of their own; `unrelated`: they have no entry in common.
   */
  relation: "same" | "ahead" | "behind" | "parted" | "unrelated";
  /** The deepest entry that both places descend from; null where there is none. */
  commonAncestor: Entry | null;
  /** Entries from the root down to it. */
  commonEntries: number;
  a: BranchSide;
  b: BranchSide;
  /** Files that both sides touched, sorted; under the names that A has for them. */
  sharedFiles: string[];
}

/** What was done on the way to one place, since it parted from the other. Compactions hide nothing of it. */
export interface BranchSide {
  leafId: string | null;
  /** All entries of the side, oldest first. */
  entries: readonly Entry[];
  /** Turns that were begun. */
  turns: number;
  files: SideFiles;
  /** In order; each that came to its end. */
  commands: CommandRun[];
  /** In their own words, bounded. */
  words: UserWords;
  compactions: SideCompaction[];
  /** Summaries of other branches that were taken along, or merged. */
  branchSummaries: { entryId: string; fromId: string; isMerge: boolean }[];
  /** The last text of the agent. */
  lastAnswer?: { entryId: string; text: string };
}

/** By tool calls; each list most recently touched first, no file in two of them. */
interface SideFiles {
  /** Those that did not exist before, as far as calls and their results say so. */
  created: string[];
  modified: string[];
  read: string[];
}

interface SideCompaction {
  entryId: string;
  /** ISO 8601. */
  timestamp: string;
  tokensBefore: number;
  /** Absent where nobody wrote it down. */
  tokensAfter?: number;
  /** True where it was taken back on this side. */
  isUndone: boolean;
}

/**
 * Compares two places of a session. Reads, and writes nothing.
 *
 * Invariant: the common entries and those of a side are the path to its place, in order; no entry is on both sides.
 * @throws BonsaiError `tree_target_unknown`.
 */
export function branchDiff(options: BranchDiffOptions): BranchDiff {
  const { session, a, b } = options;
  for (const id of [a, b]) if (id !== null && session.entry(id) === undefined) throw unknownPlace(id);
  const branchA = branchBetween(session, a, b);
  const sideA = sideOf(a, branchA.entries, options);
  const sideB = sideOf(b, branchBetween(session, b, a).entries, options);
  const { commonAncestorId } = branchA;
  return {
    relation: relationOf(sideA, sideB, commonAncestorId),
    commonAncestor: commonAncestorId === null ? null : session.entry(commonAncestorId)!,
    commonEntries: pathLength(session, commonAncestorId),
    a: sideA,
    b: sideB,
    sharedFiles: sharedFiles(session.cwd, sideA.files, sideB.files),
  };
}

/** Of a path that was read before: which bodies are lost is known, and nothing is parsed again. */
function pathLength(session: Session, entryId: string | null): number {
  const index = session.index();
  const path = entryId === null ? [] : index.ancestry(index.find(entryId));
  return path.filter((number) => !index.isDamaged(number)).length;
}

function relationOf(a: BranchSide, b: BranchSide, ancestorId: string | null): BranchDiff["relation"] {
  if (a.leafId === b.leafId) return "same";
  if (a.entries.length === 0) return "behind";
  if (b.entries.length === 0) return "ahead";
  return ancestorId === null ? "unrelated" : "parted";
}

function sideOf(
  leafId: string | null,
  entries: readonly Entry[],
  { settings, secrets = new SecretFilter() }: BranchDiffOptions,
): BranchSide {
  const items = ownItems(entries);
  const messages = secrets.values(
    items.map(({ entry, message }) => (entry.type === "message" ? entry.message : message)),
  );
  const answer = items.findLast(({ message }) => message.role === "assistant" && messageText(message) !== "");
  return {
    leafId,
    entries,
    turns: items.filter(({ entry, message }) => pinChange(entry) === undefined && startsTurn(message)).length,
    files: filesOfSide(messages),
    commands: commandRuns(items.map(({ entryId }, at) => ({ entryId, message: messages[at]! }))),
    words: recordOfItems({ items, settings, secrets }).words,
    compactions: compactionsOf(entries),
    branchSummaries: entries.flatMap((entry) =>
      entry.type === "branch_summary"
        ? [{ entryId: entry.id, fromId: entry.fromId, isMerge: entry.isMerge === true }]
        : [],
    ),
    ...(answer && { lastAnswer: { entryId: answer.entryId, text: messageText(answer.message) } }),
  };
}

/** What was said and done on the side itself, as if nothing of it had been compacted. */
function ownItems(entries: readonly Entry[]): ProjectionItem[] {
  const own = entries.filter(({ type }) => type !== "compaction" && type !== "branch_summary");
  return [...project(own).items];
}

function filesOfSide(messages: readonly Message[]): SideFiles {
  const counter = new FileOperationCounter();
  for (const message of messages) counter.add(message);
  const { read, modified } = counter.operations();
  const created = new Set(counter.created());
  return {
    created: modified.filter((file) => created.has(file)),
    modified: modified.filter((file) => !created.has(file)),
    read,
  };
}

/** Agents name a file now from the folder, now from the root. */
function sharedFiles(cwd: string, a: SideFiles, b: SideFiles): string[] {
  const all = ({ created, modified, read }: SideFiles) => [...created, ...modified, ...read];
  const inB = new Set(all(b).map((file) => resolve(cwd, file)));
  return all(a)
    .filter((file) => inB.has(resolve(cwd, file)))
    .sort();
}

function compactionsOf(entries: readonly Entry[]): SideCompaction[] {
  const undone = new UndoneCompactions();
  for (const entry of entries.toReversed()) undone.older(entry);
  return entries.flatMap((entry) => {
    if (entry.type !== "compaction") return [];
    const { id: entryId, timestamp, tokensBefore } = entry;
    const tokensAfter = manifestOf(entry)?.tokensAfter;
    const after = tokensAfter === undefined ? {} : { tokensAfter };
    return [{ entryId, timestamp, tokensBefore, ...after, isUndone: undone.has(entryId) }];
  });
}
