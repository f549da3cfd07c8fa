import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { blocksOf, installLibraries } from "./guide-blocks.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the code of the extension guide compiles in strict mode", () => {
  const work = mkdtempSync(join(tmpdir(), "bonsai-guide-"));
  onTestFinished(() => rmSync(work, { recursive: true }));
  for (const { file, text } of blocksOf("docs/extensions.md"))
    if (file !== undefined) writeFileSync(join(work, file), text);
  installLibraries(work);
  const options = { strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true };
  const compilerOptions = {
    ...options,
    ...{
      target: "es2024",
      module: "nodenext",
      noEmit: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
    },
    typeRoots: [join(root, "node_modules/@types")],
    types: ["node"],
  };
  writeFileSync(join(work, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", work], { cwd: work, encoding: "utf8" });
  // Ignores errors in library sources, because authors only see declarations.
  expect(stdout.split("\n").filter((line) => /^\S+\(\d/.test(line) && !line.startsWith("../"))).toEqual([]);
}, 120_000);
