import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Findings, filesBelow, type Package, readPackages, shown } from "./workspace.ts";

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
  const readme = join(pkg.folder, "README.md");
  if (!existsSync(readme)) return [];
  const section = /^## Errors\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(readFileSync(readme, "utf8"))?.[1] ?? "";
  return [...section.matchAll(/^\| `([a-z0-9_]+)` \| (.*?) \| (.*?) \|$/gm)].map((match) => ({
    code: match[1]!,
    when: match[2]!,
    mend: match[3]!,
  }));
}

function compare(root: string, pkg: Package): string[] {
  const documented = new Set(documentedRows(pkg).map(({ code }) => code));
  const used = new Map<string, string>();
  for (const file of filesBelow(join(pkg.folder, "src"), [".ts"])) {
    for (const code of codesIn(readFileSync(file, "utf8"))) used.set(code, file);
  }
  const missing = [...used].filter(([code]) => !documented.has(code));
  const stale = [...documented].filter((code) => !used.has(code));
  return [
    ...missing.map(
      ([code, file]) => `${shown(root, file)} uses ${code}, which has no row in the README's errors`,
    ),
    ...stale.map((code) => `packages/${pkg.room}/README.md documents ${code}, which nothing throws`),
  ];
}

function codesIn(source: string): string[] {
  return [...source.matchAll(/BonsaiError\(\{\s*code: "([a-z0-9_]+)"/g)].map((match) => match[1]!);
}
