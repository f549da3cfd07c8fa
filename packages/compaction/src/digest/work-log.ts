import { gist } from "./gist.ts";
import type { Statement } from "./statement.ts";
import type { ToolUse } from "./tool-use.ts";
import type { Turn } from "./transcript.ts";

/** What one turn got done. */
export interface WorkItem {
  text: string;
  turn: number;
  /** Edits and decided runs, as a measure of how much happened. */
  size: number;
}

/** One line for each turn that changed something: what it came to, the files, the commands with their outcome. */
export function workLog(input: {
  turns: readonly Turn[];
  uses: readonly ToolUse[];
  statements: readonly Statement[];
}): WorkItem[] {
  const items: WorkItem[] = [];
  const usesOf = groupByTurn(input.uses, (use) => use.call.turn);
  const saidOf = groupByTurn(input.statements, (statement) => statement.turn);
  const numbers = new Set([...usesOf.keys(), ...saidOf.keys()]);
  const turns = new Map(input.turns.map((turn) => [turn.turn, turn]));
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const item = workItem(turns.get(number), number, usesOf.get(number) ?? [], saidOf.get(number) ?? []);
    if (item !== undefined) items.push(item);
  }
  return items;
}

function groupByTurn<T>(items: readonly T[], turnOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const group = groups.get(turnOf(item));
    if (group === undefined) groups.set(turnOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function workItem(
  turn: Turn | undefined,
  number: number,
  uses: ToolUse[],
  said: Statement[],
): WorkItem | undefined {
  const files = fileChanges(uses);
  const commands = commandOutcomes(uses);
  const changes = uses.filter((use) => use.kind === "edit" || use.kind === "write").length;
  if (files.length === 0 && commands.length === 0) return undefined;
  const facts = [files, commands].filter((part) => part !== "").join("; ");
  const achieved = achievement(said);
  if (
    achieved === undefined &&
    changes === 0 &&
    !/failed|commit|push|tag|publish|deploy|install/.test(commands)
  ) {
    return { text: facts, turn: number, size: 0.5 };
  }
  const headline =
    achieved ?? (turn === undefined || turn.request === "" ? "" : `“${gist(turn.request, 90)}”`);
  return {
    text: headline === "" ? facts : `${headline} — ${facts}`,
    turn: number,
    size: changes + (commands === "" ? 0 : 1),
  };
}

/** The sentence in which the assistant says what it did: the last answer's first such sentence. */
function achievement(said: readonly Statement[]): string | undefined {
  const closing = said.filter((statement) => statement.speaker === "assistant" && statement.closing);
  const lastOrder = closing.at(-1)?.order;
  const candidates = closing.filter(
    (statement) =>
      statement.order === lastOrder &&
      statement.cues.has("did") &&
      statement.kind !== "question" &&
      statement.text.length > 15 &&
      !NARRATION.test(statement.text),
  );
  const best =
    candidates.find((statement) => statement.subject.size + statement.values.length >= 3) ?? candidates[0];
  return best === undefined ? undefined : gist(best.text.replace(OPENER, "").replace(/[.:：。]$/, ""), 150);
}

const NARRATION = /^(?:let me|let's|now (?:let|i)|i'll|i will|here(?:'s| is) what|the issue|looking|wait)\b/i;
const OPENER =
  /^(?:(?:perfect|great|excellent|done|good|all done|ok|okay|sure|fertig|erledigt|parfait|listo|perfecto|готово|完成了?|完了)\s*[!.,:—–-]+\s*)+/iu;

/** `edited a.ts (×5), b.ts; wrote c.ts`, most changed first. */
function fileChanges(uses: readonly ToolUse[]): string {
  const edited = new Map<string, number>();
  const written = new Set<string>();
  for (const use of uses) {
    if (use.outcome === "failed" || use.outcome === "aborted") continue;
    if (use.kind === "write") written.add(use.paths[0]!);
    if (use.kind === "edit") for (const path of use.paths) edited.set(path, (edited.get(path) ?? 0) + 1);
  }
  const edits = [...edited].filter(([path]) => !written.has(path)).sort((a, b) => b[1] - a[1]);
  const parts = [];
  if (edits.length > 0)
    parts.push(
      `edited ${listed(
        edits.map(([path, times]) => (times > 1 ? `${shortPath(path)} (×${times})` : shortPath(path))),
        4,
      )}`,
    );
  if (written.size > 0) parts.push(`wrote ${listed([...written].map(shortPath), 4)}`);
  return parts.join("; ");
}

/** The last three parts of a path: enough to know it, the full one stands in the file lists. */
function shortPath(path: string): string {
  const parts = path.split("/");
  return parts.length > 4 ? parts.slice(-3).join("/") : path;
}

function listed(items: readonly string[], limit: number): string {
  if (items.length <= limit) return items.join(", ");
  return `${items.slice(0, limit).join(", ")} and ${items.length - limit} more`;
}

/** Runs of a command in a row, told as one: `npm test` failed ×2, then passed. Commands that only look are left out. */
function commandOutcomes(uses: readonly ToolUse[]): string {
  const runs = new Map<string, string[]>();
  for (const use of uses) {
    const command = use.command;
    if (
      command === undefined ||
      command.family === "look" ||
      use.outcome === "aborted" ||
      use.outcome === "unknown"
    )
      continue;
    const told =
      command.family === "change" || command.family === "run"
        ? use.outcome === "failed"
          ? "failed"
          : "ok"
        : use.outcome;
    runs.set(command.key, [...(runs.get(command.key) ?? []), told]);
  }
  const told = [...runs].map(
    ([key, outcomes]) => `\`${key.length > 70 ? `${key.slice(0, 67)}…` : key}\`${sequence(outcomes)}`,
  );
  return told.length > 4
    ? [...told.slice(0, 1), `${told.length - 4} more`, ...told.slice(-3)].join(", ")
    : told.join(", ");
}

function sequence(outcomes: readonly string[]): string {
  const groups: Array<{ outcome: string; times: number }> = [];
  for (const outcome of outcomes) {
    const last = groups.at(-1);
    if (last?.outcome === outcome) last.times++;
    else groups.push({ outcome, times: 1 });
  }
  if (groups.length === 1 && groups[0]!.outcome === "ok")
    return groups[0]!.times > 1 ? ` (×${groups[0]!.times})` : "";
  const shown =
    groups.length > 3
      ? [{ outcome: "failed", times: outcomes.filter((one) => one === "failed").length }, groups.at(-1)!]
      : groups;
  return ` ${shown.map((group) => (group.times > 1 ? `${group.outcome} ×${group.times}` : group.outcome)).join(", then ")}`;
}
