import { fileDiff } from "@bonsai-agent/agent/host";
import { themeInUse } from "../theme.ts";

/** A unified patch of one file; empty where nothing changed. `contextLines`: around each change. */
export function generateUnifiedPatch(path: string, before: string, after: string, contextLines = 4): string {
  const { diff, firstChangedLine } = fileDiff(before, after, contextLines);
  return firstChangedLine === undefined ? "" : `--- ${path}\n+++ ${path}\n${diff}`;
}

/** A difference for people: each line behind its number, and three dots where lines are left out. */
export function generateDiffString(
  before: string,
  after: string,
  contextLines = 4,
): { diff: string; firstChangedLine: number | undefined } {
  const { diff, firstChangedLine } = fileDiff(before, after, contextLines);
  const width = String(Math.max(before.split("\n").length, after.split("\n").length)).length;
  const shown: string[] = [];
  let [oldLine, newLine] = [1, 1];
  for (const line of diff.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk !== null) {
      if (Number(hunk[1]) > oldLine) shown.push(` ${" ".repeat(width)} ...`);
      [oldLine, newLine] = [Number(hunk[1]), Number(hunk[2])];
      continue;
    }
    const sign = line[0];
    if (sign !== " " && sign !== "+" && sign !== "-") continue;
    const number = String(sign === "+" ? newLine : oldLine).padStart(width);
    shown.push(`${sign}${number} ${line.slice(1)}`);
    if (sign !== "+") oldLine += 1;
    if (sign !== "-") newLine += 1;
  }
  return { diff: shown.join("\n"), firstChangedLine };
}

/** A difference in the colours of the time when it is drawn. */
export function renderDiff(diff: string): string {
  const theme = themeInUse();
  return diff
    .split("\n")
    .map((line) => {
      if (line.startsWith("+")) return theme.fg("toolDiffAdded", line);
      return theme.fg(line.startsWith("-") ? "toolDiffRemoved" : "toolDiffContext", line);
    })
    .join("\n");
}

/** `:first-last` behind a path, of a call of `read`; empty for a whole file. */
export function formatReadLineRange(offset?: unknown, limit?: unknown): string {
  if (offset === undefined && limit === undefined) return "";
  const first = offset === undefined ? 1 : lineNumber(offset);
  if (first === undefined) return "";
  if (limit === undefined) return `:${first}`;
  const count = lineNumber(limit);
  return count === undefined ? "" : `:${first}-${first + count - 1}`;
}

/** Models also write numbers as texts. */
function lineNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}
