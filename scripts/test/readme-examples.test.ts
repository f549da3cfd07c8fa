import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readPackages } from "../structure/workspace.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const libraries = readPackages(root).filter((pkg) => !pkg.private && pkg.directory !== "cli");

test.each(libraries.map((pkg) => [pkg.directory, pkg] as const))(
  "the README example of %s runs",
  (_, pkg) => {
    const file = join(pkg.folder, "README.md");
    const readme = existsSync(file) ? readFileSync(file, "utf8") : "";
    const example = /^```ts\n(\/\/ example[\s\S]*?)^```$/m.exec(readme)?.[1];
    expect(example, `${pkg.directory}/README.md has a ts block that begins with "// example"`).toBeDefined();
    // A file in the package resolves imports as a user file would.
    const script = join(pkg.folder, `.readme-example-${process.pid}.ts`);
    writeFileSync(script, example!);
    try {
      const run = spawnSync(process.execPath, ["--conditions=@bonsai-agent/source", script], {
        cwd: pkg.folder,
        encoding: "utf8",
      });
      expect(run.stderr).toBe("");
      expect(run.status).toBe(0);
      expect(run.stdout.trim()).not.toBe("");
    } finally {
      rmSync(script);
    }
  },
);
