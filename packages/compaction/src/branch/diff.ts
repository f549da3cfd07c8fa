import { resolve } from "node:path";
import { type Message, messageText, SecretFilter } from "@bonsai-agent/messages";
import {
  type CompactionEntry,
  type Entry,
  type ProjectionItem,
  pinChange,
  project,
  type Session,
} from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import { recordOfItems } from "../carry/record.ts";
import { manifestOf, type UserWords } from "../details.ts";
import { startsTurn } from "../plan/cut.ts";
import { FileOperationCounter } from "../record/file-operations.ts";
import { type CommandRun, commandRuns } from "../record/outcomes.ts";
import type { CompactionSettings } from "../settings.ts";
import { branchBetween, unknownPlace } from "./branch.ts";

interface BranchDiffOptions {
  session: Session;
  /** The limit of the user's words applies to each side. */
  settings: CompactionSettings;
  /** The end of one side; null for the place before every entry. */
  a: string | null;
  /** The end of the other side. */
  b: string | null;
  /** Redacts words and commands. Default: a filter without known secrets. */
  secrets?: SecretFilter | undefined;
}

/** The point at which two paths separate, and the work on each side since then. */
interface BranchDiff {
  /**
   * `same`: one place; `ahead`: A comes after B; `behind`: B comes after A; `parted`: each has entries of its own;
   * `unrelated`: no entry in common.
   */
  relation: "same" | "ahead" | "behind" | "parted" | "unrelated";
  /** The deepest entry that both places descend from; null without one. */
  commonAncestor: Entry | null;
  /** Entries from the root down to it. */
  commonEntries: number;
  a: BranchSide;
  b: BranchSide;
  /** Files that both sides touched, sorted; under the names that A has for them. */
  sharedFiles: string[];
}

/** The work on one side, as if nothing of it had been compacted. */
interface BranchSide {
  leafId: string | null;
  /** All entries of the side, oldest first. */
  entries: readonly Entry[];
  /** Number of turns that began here. */
  turns: number;
  files: SideFiles;
  /** Ended commands, in order. */
  commands: CommandRun[];
  /** The user's own words, bounded. */
  words: UserWords;
  compactions: SideCompaction[];
  /** Summaries of left or merged branches. */
  branchSummaries: { entryId: string; fromId: string; isMerge: boolean }[];
  /** The last text of the agent. */
  lastAnswer?: { entryId: string; text: string };
}

/** From tool calls; most recently touched first, each file in one list. */
interface SideFiles {
  /** New files, as far as calls and results show it. */
  created: string[];
  modified: string[];
  read: string[];
}

interface SideCompaction extends Pick<CompactionEntry, "timestamp" | "tokensBefore"> {
  entryId: string;
  /** Absent if it was not recorded. */
  tokensAfter?: number;
  /** True if it was undone on this side. */
  isUndone: boolean;
}

/**
 * Compares two places of a session. Writes nothing.
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

/** The path was read before, so lost bodies are known and nothing is parsed again. */
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
    words: recordOfItems({ items, wordsTokens: settings.words.maxTokens, secrets }).words,
    compactions: compactionsOf(entries),
    branchSummaries: entries.flatMap((entry) =>
      entry.type === "branch_summary"
        ? [{ entryId: entry.id, fromId: entry.fromId, isMerge: entry.isMerge === true }]
        : [],
    ),
    ...(answer && { lastAnswer: { entryId: answer.entryId, text: messageText(answer.message) } }),
  };
}

/** The side's own messages, without compactions and branch summaries. */
function ownItems(entries: readonly Entry[]): ProjectionItem[] {
  const own = entries.filter(({ type }) => type !== "compaction" && type !== "branch_summary");
  return [...project(own).items];
}

function filesOfSide(messages: readonly Message[]): SideFiles {
  const counter = new FileOperationCounter(messages);
  const { read, modified } = counter.operations();
  const created = new Set(counter.created());
  return {
    created: modified.filter((file) => created.has(file)),
    modified: modified.filter((file) => !created.has(file)),
    read,
  };
}

/** Agents name a file by a relative or an absolute path. */
function sharedFiles(cwd: string, a: SideFiles, b: SideFiles): string[] {
  const all = ({ created, modified, read }: SideFiles) => [...created, ...modified, ...read];
  const inB = new Set(all(b).map((file) => resolve(cwd, file)));
  return all(a)
    .filter((file) => inB.has(resolve(cwd, file)))
    .sort();
}

function compactionsOf(entries: readonly Entry[]): SideCompaction[] {
  const undone = new UndoneCompactions();
  for (const entry of entries.toReversed()) undone.addOlder(entry);
  return entries.flatMap((entry) => {
    if (entry.type !== "compaction") return [];
    const { id: entryId, timestamp, tokensBefore } = entry;
    const tokensAfter = manifestOf(entry)?.tokensAfter;
    const after = tokensAfter === undefined ? {} : { tokensAfter };
    return [{ entryId, timestamp, tokensBefore, ...after, isUndone: undone.has(entryId) }];
  });
}
