import { printableLines } from "../../views/terminal-text.ts";

export type DiffLineKind = "added" | "removed" | "gap" | "same";

/** A line of a difference, with its numbers where they are known. */
export interface DiffLine {
  kind: DiffLineKind;
  text: string;
  /** In the file as it was; absent for an added line. */
  oldNumber?: number;
  /** In the file as it is; absent for a removed line. */
  newNumber?: number;
}

const noNewline = /^\\ /;
const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/;

/**
 * A unified difference, line by line. The headers of its parts become the numbers of their lines, and a gap between them.
 * What differs and would not be seen is made visible: blanks at the end, returns, a missing newline.
 */
export function diffLines(diff: string): DiffLine[] {
  const lines = diff.replace(/(?<!\n)\n+$/, "").split("\n");
  const changed = lines.filter((line) => /^[-+]/.test(line));
  const tellsReturns =
    changed.some((line) => line.endsWith("\r")) && !changed.every((line) => line.endsWith("\r"));
  const tellsNewline = lines.filter((line) => noNewline.test(line)).length === 1;
  const shown: DiffLine[] = [];
  const next: LineNumbers = {};
  for (const line of lines) {
    const [, oldStart, newStart, heading = ""] = hunk.exec(line) ?? [];
    if (oldStart !== undefined) {
      next.old = Number(oldStart);
      next.new = Number(newStart);
      const text = printableLines(heading).join(" ");
      if (shown.length > 0 || text !== "") shown.push({ kind: "gap", text: `⋮ ${text}`.trimEnd() });
    } else if (tellsNewline || !noNewline.test(line))
      shown.push(numbered(diffLine(line, tellsReturns), next));
  }
  return shown;
}

/** Of the line that comes next; unknown before the first header. */
interface LineNumbers {
  old?: number;
  new?: number;
}

function numbered(line: DiffLine, next: LineNumbers): DiffLine {
  if (line.kind === "gap" || next.old === undefined || next.new === undefined) return line;
  const isOld = line.kind !== "added";
  const isNew = line.kind !== "removed";
  return {
    ...line,
    ...(isOld ? { oldNumber: next.old++ } : {}),
    ...(isNew ? { newNumber: next.new++ } : {}),
  };
}

/** From so many columns on, lines have their old numbers too; below so many, none. */
const COLUMNS_FOR_BOTH = 90;
const COLUMNS_FOR_NEW = 24;

/** What stands before the lines of a difference, aligned: old and new number, the new one, or nothing. */
export function diffGutter(
  lines: readonly DiffLine[],
  width: number,
): { columns: number; of: (line: DiffLine) => string } {
  const largest = lines.reduce(
    (most, { oldNumber = 0, newNumber = 0 }) => Math.max(most, oldNumber, newNumber),
    0,
  );
  const digits = String(largest).length;
  if (largest === 0 || width < COLUMNS_FOR_NEW + digits) return { columns: 0, of: () => "" };
  const cell = (value: number | undefined) => `${value ?? ""}`.padStart(digits);
  if (width < COLUMNS_FOR_BOTH) return { columns: digits + 1, of: ({ newNumber }) => `${cell(newNumber)} ` };
  return {
    columns: 2 * digits + 2,
    of: ({ oldNumber, newNumber }) => `${cell(oldNumber)} ${cell(newNumber)} `,
  };
}

function diffLine(line: string, tellsReturns: boolean): DiffLine {
  if (noNewline.test(line)) return { kind: "gap", text: "no newline at the end of the file" };
  const kind = kindOf(line);
  const text = line.replace(/\r$/, tellsReturns ? "␍" : "");
  const shown = kind === "same" ? text : withBlanks(text);
  return { kind, text: printableLines(shown).join(" ") };
}

/** Those at the end, behind the sign. */
function withBlanks(line: string): string {
  const [text = ""] = line.split(/␍$/);
  const end = Math.max(1, text.trimEnd().length);
  return (
    text.slice(0, end) + text.slice(end).replaceAll("\t", "→").replaceAll(" ", "·") + line.slice(text.length)
  );
}

function kindOf(text: string): DiffLineKind {
  if (text.startsWith("+")) return "added";
  return text.startsWith("-") ? "removed" : "same";
}
