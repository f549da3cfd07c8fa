import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BenchTable } from "@bonsai-agent/testkit";

// `pnpm bench [part of a file name …]` runs each bench in its own process, one after the other.
const root = fileURLToPath(new URL("..", import.meta.url));
const self = fileURLToPath(import.meta.url);
const [only, ...more] = process.argv.slice(2);

if (only === "--file" && more[0] !== undefined) {
  const { default: bench } = (await import(pathToFileURL(more[0]).href)) as {
    default: () => Promise<BenchTable | BenchTable[]>;
  };
  for (const table of [await bench()].flat()) print(table);
} else {
  const names = process.argv.slice(2);
  const files = globSync(join(root, "packages/*/bench/*.bench.ts"))
    .sort()
    .filter((file) => names.length === 0 || names.some((name) => basename(file).includes(name)));
  if (files.length === 0) throw new Error(`No bench has ${names.join(" or ")} in its name.`);
  const failed = files.filter((file) => runOne(file) !== 0);
  for (const file of failed) console.error(`failed: ${file}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

function runOne(file: string): number | null {
  const args = [...process.execArgv, self, "--file", file];
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status;
}

function print(table: BenchTable): void {
  const rows = [table.columns, ...table.rows];
  const widths = table.columns.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  console.log(`\n${table.title}`);
  console.log(line(table.columns));
  console.log(widths.map((width) => "-".repeat(width)).join("  "));
  for (const row of table.rows) console.log(line(row));
  for (const note of table.notes ?? []) console.log(`  ${note}`);
}
