import { branchDiff, compactionSettings } from "@bonsai-agent/compaction";
import type { SecretFilter } from "@bonsai-agent/messages";
import { lineText } from "@bonsai-agent/messages/numbers";
import type { Session } from "@bonsai-agent/session";
import type { ComparedSide, Comparison, PageData } from "./page-data.ts";
import { branchEnds, pathTo, spokenAt } from "./paths.ts";

const MAX_COMPARISONS = 100;
/** Entries on the sides of all comparisons: the page reads each of them once more, which takes 0.2 ms each. */
const MAX_COMPARED_ENTRIES = 1_000;
const MAX_COMMANDS = 50;
const MAX_COMMAND_CHARS = 1_000;
const MAX_LISTED = 300;

/** Branch ends that the page compares with the session's position, newest first, as far as the bounds allow. */
export function comparedEnds({ rows, leaf }: Pick<PageData, "rows" | "leaf">): number[] {
  const here = spokenAt(rows, leaf);
  const herePath = pathTo(rows.parents, here);
  const depths = new Map(herePath.map((row, at) => [row, at + 1]));
  const ends: number[] = [];
  let left = MAX_COMPARED_ENTRIES;
  for (const end of branchEnds(rows)) {
    if (ends.length === MAX_COMPARISONS) break;
    if (end === here || here < 0) continue;
    let above = end;
    let entries = 0;
    for (; above >= 0 && !depths.has(above) && entries <= left; above = rows.parents[above]!) entries += 1;
    entries += herePath.length - (depths.get(above) ?? 0);
    if (entries > left) continue;
    left -= entries;
    ends.push(end);
  }
  return ends;
}

interface CompareOptions {
  session: Session;
  data: Pick<PageData, "rows" | "leaf" | "requests">;
  rowOf: (id: string) => number;
  secrets: SecretFilter;
}

/** Compares the branch that ends at a row with the session's position. */
export function compareWithHere(end: number, { session, data, rowOf, secrets }: CompareOptions): Comparison {
  const { ids } = data.rows;
  const b = ids[spokenAt(data.rows, data.leaf)] ?? null;
  const diff = branchDiff({ session, settings: compactionSettings(), a: ids[end]!, b, secrets });
  const sideOf = (side: (typeof diff)["a"]): ComparedSide => {
    const { created, modified, read } = side.files;
    const rowsOf = (entries: readonly string[]) => entries.map(rowOf).filter((row) => row >= 0);
    const rows = new Set(rowsOf(side.entries.map(({ id }) => id)));
    const costs = data.requests.filter(({ row }) => rows.has(row)).map(({ costUsd }) => costUsd);
    const commands = side.commands.slice(-MAX_COMMANDS).map(({ command, state, entryId = "" }) => ({
      text: lineText([{ text: command }], MAX_COMMAND_CHARS),
      state,
      row: rowOf(entryId),
    }));
    return {
      entries: side.entries.length,
      turns: side.turns,
      compactions: side.compactions.length,
      files: [created, modified, read].map((files) => ({
        count: files.length,
        names: files.slice(0, MAX_LISTED),
      })),
      commands,
      words: rowsOf(side.words.said.map(({ entryId = "" }) => entryId)).slice(-MAX_LISTED),
      lastAnswer: rowsOf(side.lastAnswer === undefined ? [] : [side.lastAnswer.entryId]),
      branchSummaries: rowsOf(side.branchSummaries.map(({ entryId }) => entryId)),
      costUsd: costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0),
      isCostWhole: !costs.includes(null),
    };
  };
  return {
    relation: diff.relation,
    commonAncestor: diff.commonAncestor === null ? -1 : rowOf(diff.commonAncestor.id),
    commonEntries: diff.commonEntries,
    a: sideOf(diff.a),
    b: sideOf(diff.b),
    sharedFiles: diff.sharedFiles.slice(0, MAX_LISTED),
  };
}
