import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Findings, filesBelow, type Package, shown } from "./workspace.ts";

/** A row of a table of codes: the code without its backticks, then the other cells. */
export type CodeRow = [code: string, ...cells: string[]];

/** The rows of codes in one section of a package's README, as far as they have that many columns. */
export function codeRows(pkg: Package, section: string, columns: number): CodeRow[] {
  const readme = join(pkg.folder, "README.md");
  if (!existsSync(readme)) return [];
  const found = new RegExp(`^## ${section}\\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, "m");
  const text = found.exec(readFileSync(readme, "utf8"))?.[1] ?? "";
  const row = new RegExp(`^\\| \`([a-z0-9_]+)\`${" \\| (.*?)".repeat(columns - 1)} \\|$`, "gm");
  return [...text.matchAll(row)].map((match) => match.slice(1) as CodeRow);
}

/** The codes that a package's source uses, and what is bundled with it, each with one file that does. `used` has the code as its first group. */
function codesUsed(pkg: Package, used: RegExp): Map<string, string> {
  return new Map(
    pkg.sources
      .flatMap((folder) => filesBelow(folder, [".ts"]))
      .flatMap((file) =>
        [...readFileSync(file, "utf8").matchAll(used)].map((match): [string, string] => [match[1]!, file]),
      ),
  );
}

export interface CodeTable {
  root: string;
  pkg: Package;
  rows: readonly CodeRow[];
  /** Finds the codes in a source text; the first group is the code. Global. */
  used: RegExp;
  /** "errors": what the section is about. */
  about: string;
  /** "throws": what the source does with such a code. */
  does: string;
}

/** Codes without a row, and rows without a code. */
export function checkCodeTable({ root, pkg, rows, used, about, does }: CodeTable): Findings["errors"] {
  const documented = new Set(rows.map(([code]) => code));
  const codes = codesUsed(pkg, used);
  const missing = [...codes].filter(([code]) => !documented.has(code));
  const stale = [...documented].filter((code) => !codes.has(code));
  return [
    ...missing.map(
      ([code, file]) => `${shown(root, file)} uses ${code}, which has no row in the README's ${about}`,
    ),
    ...stale.map((code) => `packages/${pkg.directory}/README.md documents ${code}, which nothing ${does}`),
  ];
}
