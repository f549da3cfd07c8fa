import { printableLines } from "../../views/printable.ts";

export type DiffLineKind = "added" | "removed" | "hunk" | "same";

export interface DiffLine {
  kind: DiffLineKind;
  text: string;
}

/** A unified difference, line by line: what it says in its headers stands in the line that is marked as a hunk. */
export function diffLines(diff: string): DiffLine[] {
  return printableLines(diff.trimEnd())
    .filter((text) => !text.startsWith("\\"))
    .map((text) => ({ kind: kindOf(text), text }));
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
