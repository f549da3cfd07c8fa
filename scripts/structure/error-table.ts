import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkCodeTable, codeRows } from "./readme-table.ts";
import { type Findings, type Package, readPackages } from "./workspace.ts";

/** The one table of all codes, made from the tables in the packages' READMEs. */
export const ERROR_TABLE = "docs/errors.md";

/** Every code that the source constructs has a row in its package's README, and the one table has them all. */
export function checkErrorTable(root: string): Findings {
  const packages = readPackages(root).filter((pkg) => !pkg.private);
  const errors = packages.flatMap((pkg) => compare(root, pkg));
  const table = join(root, ERROR_TABLE);
  const written = existsSync(table) ? readFileSync(table, "utf8") : "";
  if (written !== errorTable(root)) errors.push(`${ERROR_TABLE} is out of date: run \`pnpm errors-table\``);
  return { errors, warnings: [] };
}

/** The text that docs/errors.md should have. */
export function errorTable(root: string): string {
  const rows = readPackages(root).flatMap((pkg) =>
    documentedRows(pkg).map((row) => ({ ...row, from: pkg.name })),
  );
  rows.sort((a, b) => (a.code < b.code ? -1 : 1));
  return [
    "# Error codes",
    "",
    "Every error that reaches a user has a stable code, says what happened and what was received, and how to mend it.",
    'With `--json` it is printed as `{"error":{"code","message","hint"}}` on standard error.',
    "",
    "| code | when | how to mend | package |",
    "| --- | --- | --- | --- |",
    ...rows.map(({ code, when, mend, from }) => `| \`${code}\` | ${when} | ${mend} | ${from} |`),
    "",
  ].join("\n");
}

interface Row {
  code: string;
  when: string;
  mend: string;
}

function documentedRows(pkg: Package): Row[] {
  return codeRows(pkg, "Errors", 3).map(([code, when = "", mend = ""]) => ({ code, when, mend }));
}

function compare(root: string, pkg: Package): string[] {
  const rows = codeRows(pkg, "Errors", 3);
  const used = /BonsaiError\(\{\s*code: "([a-z0-9_]+)"/g;
  return checkCodeTable({ root, pkg, rows, used, about: "errors", does: "throws" });
}
