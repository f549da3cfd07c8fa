import { achievement } from "./achievement.ts";
import { addRun, type CommandLog, passing, toldCommands } from "./command-log.ts";
import { gist } from "./gist.ts";
import { isTrivialRequest } from "./goal.ts";
import type { Statement } from "./statement.ts";
import type { ToolUse } from "./tool-use.ts";
import type { Turn } from "./transcript.ts";

/** How the line begins that tells what passes; the next summary writes it anew. */
export const LAST_RUNS = "Last runs that passed:";

/** A stretch of work as one line. */
export interface WorkItem {
  text: string;
  turn: number;
  /** Edits and telling runs, as a measure of how much happened. */
  size: number;
}

/** What was done in one turn, or in several that belong together. */
interface Work {
  headline: string | undefined;
  requests: Set<string>;
  edits: Map<string, number>;
  writes: Set<string>;
  commands: CommandLog;
  turn: number;
}

export interface WorkLogInput {
  turns: readonly Turn[];
  uses: readonly ToolUse[];
  statements: readonly Statement[];
}

/**
 * One line for each turn that changed something: what it came to, the files, the commands that did not simply pass.
 * Turns in a row on the same files that nobody summed up become one. At the end, which commands pass.
 */
export function workLog(input: WorkLogInput): WorkItem[] {
  const works: Work[] = [];
  for (const work of worksOf(input)) {
    const last = works.at(-1);
    if (last !== undefined && belongTogether(last, work)) merge(last, work);
    else works.push(work);
  }
  const items = works.map(toItem).filter((item) => item.text !== "");
  const passes = passing(allRuns(input.uses)).slice(-5);
  const turn = input.turns.at(-1)?.turn ?? 0;
  if (passes.length > 0)
    items.push({
      text: `${LAST_RUNS} ${passes.map((key) => `\`${key}\``).join(", ")}`,
      turn: turn + 1,
      size: 3,
    });
  return items;
}

function* worksOf({ turns, uses, statements }: WorkLogInput): Generator<Work> {
  const usesOf = Map.groupBy(uses, (use) => use.call.turn);
  const saidOf = Map.groupBy(statements, (statement) => statement.turn);
  const requestOf = new Map(turns.map((turn) => [turn.turn, turn.request]));
  let request = "";
  for (const turn of [...new Set([...requestOf.keys(), ...usesOf.keys()])].sort((a, b) => a - b)) {
    const asked = requestOf.get(turn) ?? "";
    // "continue" goes on with what was asked before.
    if (!isTrivialRequest(asked)) request = asked;
    const done = usesOf.get(turn);
    if (done !== undefined) yield workOf(turn, request, done, saidOf.get(turn) ?? []);
  }
}

function workOf(turn: number, request: string, uses: readonly ToolUse[], said: readonly Statement[]): Work {
  const work: Work = {
    headline: achievement(said),
    requests: new Set(request === "" ? [] : [gist(request, 80)]),
    edits: new Map(),
    writes: new Set(),
    commands: allRuns(uses),
    turn,
  };
  for (const use of uses) {
    if (use.outcome === "failed" || use.outcome === "aborted") continue;
    if (use.kind === "write") work.writes.add(use.paths[0]!);
    if (use.kind === "edit") for (const path of use.paths) count(work.edits, path, 1);
  }
  return work;
}

function allRuns(uses: readonly ToolUse[]): CommandLog {
  const log: CommandLog = new Map();
  for (const use of uses) addRun(log, use);
  return log;
}

function belongTogether(last: Work, next: Work): boolean {
  if (last.headline !== undefined || next.headline !== undefined) return false;
  const files = (work: Work): number => work.edits.size + work.writes.size;
  return files(next) === 0 || [...next.edits.keys(), ...next.writes].some((path) => last.edits.has(path));
}

function merge(last: Work, next: Work): void {
  for (const [path, times] of next.edits) count(last.edits, path, times);
  for (const path of next.writes) last.writes.add(path);
  for (const [key, outcomes] of next.commands) {
    const known = last.commands.get(key);
    if (known === undefined) last.commands.set(key, outcomes);
    else for (const outcome of outcomes) known.push(outcome);
  }
  for (const request of next.requests) last.requests.add(request);
  last.turn = next.turn;
}

function count(counts: Map<string, number>, path: string, times: number): void {
  counts.set(path, (counts.get(path) ?? 0) + times);
}

function toItem(work: Work): WorkItem {
  const commands = toldCommands(work.commands);
  const edits = [...work.edits.values()].reduce((sum, times) => sum + times, 0);
  const size = edits + work.writes.size + (commands === "" ? 0 : 1);
  const facts = [fileChanges(work), commands].filter((part) => part !== "").join("; ");
  if (facts === "") return { text: "", turn: work.turn, size: 0 };
  const asked = [...work.requests]
    .slice(-3)
    .map((request) => `“${request}”`)
    .join(", ");
  const headline = work.headline ?? asked;
  return { text: headline === "" ? facts : `${headline} — ${facts}`, turn: work.turn, size };
}

/** `edited a.ts (×5), b.ts; wrote c.ts`, most changed first; one edit of a file that the headline names goes without saying. */
function fileChanges({ edits, writes, headline }: Work): string {
  const changed = [...edits].filter(([path]) => !writes.has(path)).sort((a, b) => b[1] - a[1]);
  const parts: string[] = [];
  if (changed.length > 0) parts.push(`edited ${listed(changed.map(timesEdited), 4)}`);
  if (writes.size > 0) parts.push(`wrote ${listed([...writes].map(shortPath), 4)}`);
  const only = changed.length === 1 && changed[0]![1] === 1 && writes.size === 0 ? changed[0]![0] : undefined;
  return only !== undefined && headline?.includes(only) ? "edited" : parts.join("; ");
}

function timesEdited([path, times]: [string, number]): string {
  return times > 1 ? `${shortPath(path)} (×${times})` : shortPath(path);
}

/** The last three parts of a path: enough to know it, the full one stands in the file lists. */
function shortPath(path: string): string {
  const parts = path.split("/");
  if (/^(?:[/~]|[A-Z]:)/.test(path)) return parts.length > 5 ? `…/${parts.slice(-3).join("/")}` : path;
  return parts.length > 4 ? parts.slice(-3).join("/") : path;
}

function listed(items: readonly string[], limit: number): string {
  if (items.length <= limit) return items.join(", ");
  return `${items.slice(0, limit).join(", ")} and ${items.length - limit} more`;
}
