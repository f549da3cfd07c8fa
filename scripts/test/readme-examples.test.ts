import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { type Package, readPackages } from "../structure/workspace.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const libraries = readPackages(root).filter((pkg) => !pkg.private && pkg.directory !== "cli");

function exampleOf({ folder }: Package): string | undefined {
  const file = join(folder, "README.md");
  const readme = existsSync(file) ? readFileSync(file, "utf8") : "";
  return /^```ts\n(\/\/ example[\s\S]*?)^```$/m.exec(readme)?.[1];
}

interface Printed {
  log: string[];
  error: string[];
}

/** Imports each file in turn and prints its output or its error. */
const RUNNER = `
const printed = [];
const { log } = console;
for (const file of process.argv.slice(1)) {
  const one = { log: [], error: [] };
  printed.push(one);
  console.log = (...values) => void one.log.push(values.map(String).join(" "));
  console.error = console.warn = (...values) => void one.error.push(values.map(String).join(" "));
  await import(file).catch((error) => console.error(error.stack));
}
log(JSON.stringify(printed));`;

let printed: Printed[];

// One process runs all examples, because loading the libraries takes longer than an example.
beforeAll(() => {
  // A file in the package resolves imports as a user file would.
  const files = libraries.map((pkg) => join(pkg.folder, `.readme-example-${process.pid}.ts`));
  try {
    for (const [at, pkg] of libraries.entries()) writeFileSync(files[at]!, exampleOf(pkg) ?? "");
    const argv = ["--conditions=@bonsai-agent/source", "--input-type=module", "-e", RUNNER, ...files];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: root, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    printed = JSON.parse(stdout);
  } finally {
    for (const file of files) rmSync(file, { force: true });
  }
});

test.each(libraries.map((pkg, at) => [pkg.directory, pkg, at] as const))(
  "the README example of %s runs",
  (directory, pkg, at) => {
    expect(
      exampleOf(pkg),
      `${directory}/README.md has a ts block that begins with "// example"`,
    ).toBeDefined();
    expect(printed[at]!.error).toEqual([]);
    expect(printed[at]!.log.join("\n").trim()).not.toBe("");
  },
);
