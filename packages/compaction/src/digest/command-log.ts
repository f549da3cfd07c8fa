import { gist } from "./gist.ts";
import type { ToolUse } from "./tool-use.ts";

/** How the runs of each command went, in the order in which the commands came up. */
export type CommandLog = Map<string, string[]>;

export function addRun(log: CommandLog, { command, outcome }: ToolUse): void {
  if (command === undefined || command.family === "look" || outcome === "aborted" || outcome === "unknown")
    return;
  const plain = command.family === "change" || command.family === "run";
  const told = plain && outcome === "passed" ? "ok" : outcome;
  const runs = log.get(command.key);
  if (runs === undefined) log.set(command.key, [told]);
  else runs.push(told);
}

/** Runs told as one: `npm test` failed ×2, then passed. What only ever passed is left to the last line of all. */
export function toldCommands(log: CommandLog): string {
  const told = [...log]
    .filter(([, outcomes]) => outcomes.some((outcome) => outcome !== "passed"))
    .map(([key, outcomes]) => `\`${gist(key, 70)}\`${sequence(outcomes)}`);
  if (told.length <= 4) return told.join(", ");
  return [told[0], `${told.length - 4} more`, ...told.slice(-3)].join(", ");
}

/** The commands whose last run passed. */
export function passing(log: CommandLog): string[] {
  return [...log].filter(([, outcomes]) => outcomes.at(-1) === "passed").map(([key]) => gist(key, 70));
}

function sequence(outcomes: readonly string[]): string {
  const groups: Array<{ outcome: string; times: number }> = [];
  for (const outcome of outcomes) {
    const last = groups.at(-1);
    if (last?.outcome === outcome) last.times++;
    else groups.push({ outcome, times: 1 });
  }
  const [first] = groups;
  if (groups.length === 1 && first!.outcome === "ok") return first!.times > 1 ? ` (×${first!.times})` : "";
  const failed = outcomes.filter((outcome) => outcome === "failed").length;
  const shown = groups.length > 3 ? [{ outcome: "failed", times: failed }, groups.at(-1)!] : groups;
  return ` ${shown.map(({ outcome, times }) => (times > 1 ? `${outcome} ×${times}` : outcome)).join(", then ")}`;
}
