import { printableLines } from "../../views/terminal-text.ts";

type DiffLineKind = "added" | "removed" | "gap" | "same";

export interface DiffLine {
  kind: DiffLineKind;
  text: string;
  /** Its number in the new file; for a removed line, in the old file. Unknown before the first header. */
  number?: number;
}

const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

export function diffLines(diff: string): DiffLine[] {
  const shown: DiffLine[] = [];
  let oldNumber = Number.NaN;
  let newNumber = Number.NaN;
  for (const line of diff.replace(/(?<!\n)\n+$/, "").split("\n")) {
    const [, oldStart, newStart, heading = ""] = hunk.exec(line) ?? [];
    if (oldStart !== undefined) {
      oldNumber = Number(oldStart);
      newNumber = Number(newStart);
      const text = printableLines(heading).join(" ");
      if (shown.length > 0 || text !== "") shown.push({ kind: "gap", text: `⋮ ${text}`.trimEnd() });
    } else if (line.startsWith("\\ ")) {
      shown.push({ kind: "gap", text: "no newline at the end of the file" });
    } else {
      const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
      const number = kind === "removed" ? oldNumber : newNumber;
      if (kind !== "added") oldNumber += 1;
      if (kind !== "removed") newNumber += 1;
      const text = printableLines(kind === "same" ? line.trimEnd() : withVisibleEnd(line)).join(" ");
      shown.push({ kind, text, ...(number > 0 && { number }) });
    }
  }
  return shown;
}

/** A narrower screen shows no line numbers. */
const MIN_COLUMNS = 24;

/** Columns for the line numbers of a difference, and a space. */
export function gutterColumns(lines: readonly DiffLine[], width: number): number {
  const largest = lines.reduce((most, { number = 0 }) => Math.max(most, number), 0);
  const digits = String(largest).length;
  return largest === 0 || width < MIN_COLUMNS + digits ? 0 : digits + 1;
}

/** Makes white space at the end of a changed line visible. */
function withVisibleEnd(line: string): string {
  const end = Math.max(1, line.trimEnd().length);
  return (
    line.slice(0, end) + line.slice(end).replaceAll("\t", "→").replaceAll(" ", "·").replaceAll("\r", "␍")
  );
}
