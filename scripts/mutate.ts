import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { filesBelow } from "./structure/workspace.ts";

// `pnpm mutate PACKAGE [FILE OR FOLDER …]`: changes the sources of a package in small ways and reports the changes that no
// test of the package notices. Paths are below the package's `src`. It changes the files in place, so it needs a clean
// package, and it restores them at the end. Each change runs all tests that reach it, so a whole package takes hours: name
// single files or lines of them (`fork.ts:20-40`), or let `--sample 40` choose 40 pieces of ten lines, always the same ones
// for the same sources. `--tests a,b` runs only the test files with these names.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
/** Parts of a package that are checked if the call names none. */
const PARTS: Readonly<Record<string, readonly string[]>> = { agent: ["run"] };

/** Lines of a piece of a sample. */
const PIECE = 10;

const { values, positionals } = parseArgs({
  options: { tests: { type: "string" }, sample: { type: "string" } },
  allowPositionals: true,
});
const [name = "", ...named] = positionals;
const source = join("packages", name, "src");
if (name === "" || !existsSync(join(root, source))) {
  console.error("Name a package and, to be quick, files or folders of its src: pnpm mutate compaction flow");
  process.exit(2);
}
const changed = spawnSync("git", ["status", "--porcelain", "--", source], { cwd: root, encoding: "utf8" });
if (changed.stdout !== "") {
  console.error(`Commit your changes in ${source} first: the mutants are written into these files.`);
  process.exit(2);
}
process.chdir(root);
process.env.MUTATION_TESTS = (values.tests?.split(",") ?? ["*"])
  .map((test) => `packages/${name}/test/**/${test}.test.ts`)
  .join();
const paths = named.length > 0 ? named : (PARTS[name] ?? [""]);
const files = paths.flatMap((path) =>
  /\.ts(?::\d+-\d+)?$/.test(path) ? [join(source, path)] : filesBelow(join(source, path), [".ts"]),
);
const results = await new Stryker({
  mutate: values.sample === undefined ? files : sampleOf(files, Number(values.sample)),
  inPlace: true,
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "vitest.mutate.config.ts", related: false },
  coverageAnalysis: "perTest",
  ignoreStatic: true,
  // Texts and their templates are held by golden files.
  mutator: { excludedMutations: ["StringLiteral", "ObjectLiteral"] },
  concurrency: 1,
  // A loaded machine must not count as a test that fails.
  timeoutMS: 60_000,
  dryRunTimeoutMinutes: 20,
  disableTypeChecks: false,
  reporters: ["progress"],
  allowEmpty: true,
  tempDirName: "node_modules/.cache/stryker",
}).runMutationTest();

/** Pieces of the files, each with the same chance, in Stryker's form `file:first-last`. The hash of its place orders them. */
function sampleOf(all: readonly string[], count: number): string[] {
  const pieces = all.flatMap((file) => {
    const length = readFileSync(file, "utf8").split("\n").length;
    return Array.from(
      { length: Math.ceil(length / PIECE) },
      (_, at) => `${file}:${at * PIECE + 1}-${Math.min(length, (at + 1) * PIECE)}`,
    );
  });
  const order = (piece: string) => createHash("sha256").update(piece).digest("hex");
  return pieces.sort((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, count);
}

const lines = new Map<string, string[]>();
function lineOf(file: string, line: number): string {
  const text = lines.get(file) ?? readFileSync(file, "utf8").split("\n");
  lines.set(file, text);
  return text[line - 1]!.trim();
}

let killed = 0;
let survived = 0;
for (const { status, fileName, location, replacement, mutatorName } of results) {
  if (status === "Killed" || status === "Timeout") killed += 1;
  if (status !== "Survived" && status !== "NoCoverage") continue;
  survived += 1;
  const { line } = location.start;
  console.log(
    `${status} ${fileName.slice(root.length + 1)}:${line} ${mutatorName}: ${lineOf(fileName, line)}`,
  );
  console.log(`    → ${replacement}`);
}
const share = (100 * killed) / Math.max(1, killed + survived);
console.log(`${killed} of ${killed + survived} mutants killed: ${share.toFixed(1)}%`);
