import { printableLines } from "../../views/printable.ts";

export type DiffLineKind = "added" | "removed" | "hunk" | "same";

export interface DiffLine {
  kind: DiffLineKind;
  text: string;
}

const noNewline = /^\\ /;

/**
 * A unified difference, line by line: what it says in its headers stands in the line that is marked as a hunk. What
 * differs and would not be seen is made visible: blanks at the end, returns, a missing newline.
 */
export function diffLines(diff: string): DiffLine[] {
  const lines = diff.replace(/(?<!\n)\n+$/, "").split("\n");
  const changed = lines.filter((line) => /^[-+]/.test(line));
  const tellsReturns =
    changed.some((line) => line.endsWith("\r")) && !changed.every((line) => line.endsWith("\r"));
  const tellsNewline = lines.filter((line) => noNewline.test(line)).length === 1;
  return lines
    .filter((line) => tellsNewline || !noNewline.test(line))
    .map((line) => diffLine(line, tellsReturns));
}

function diffLine(line: string, tellsReturns: boolean): DiffLine {
  if (noNewline.test(line)) return { kind: "hunk", text: "no newline at the end" };
  const kind = kindOf(line);
  const text = line.replace(/\r$/, tellsReturns && kind !== "hunk" ? "␍" : "");
  const told = kind === "same" || kind === "hunk" ? text : withBlanks(text);
  return { kind, text: printableLines(told).join(" ") };
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
  if (text.startsWith("@@")) return "hunk";
  if (text.startsWith("+")) return "added";
  return text.startsWith("-") ? "removed" : "same";
}

/** What the details of `edit` and `write` say of a change; undefined for those of other tools. */
export function changeOf(details: unknown): { diff: string; added: number; removed: number } | undefined {
  if (typeof details !== "object" || details === null) return undefined;
  const { diff, added, removed } = details as Record<string, unknown>;
  if (typeof added !== "number" || typeof removed !== "number") return undefined;
  return { diff: typeof diff === "string" ? diff : "", added, removed };
}
