import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readConfig } from "../src/config.ts";

const folder = join(import.meta.dirname, "..");

/** All packages that a file loads at once, by itself or by a file that it imports. Dynamic imports come later. */
function loadedPackages(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return new Set();
  seen.add(file);
  const code = stripTypeScriptTypes(readFileSync(file, "utf8"));
  const names = [...code.matchAll(/^(?:import|export)\b[^;]*?from "([^"]+)";/gm)].map(([, name]) => name!);
  const found = names.flatMap((name) =>
    name.startsWith(".") ? [...loadedPackages(join(dirname(file), name), seen)] : [name],
  );
  return new Set(found);
}

test("the start loads neither the SDK nor zod", () => {
  const packages = loadedPackages(join(folder, "index.ts"));
  expect([...packages].filter((name) => !name.startsWith("node:"))).toEqual(["@bonsai-agent/extension"]);
  expect(loadedPackages(join(folder, "src/sdk.ts"))).toContain("@modelcontextprotocol/client");
});

test("the file in the README is valid", () => {
  const [, text = ""] = /<!-- file: mcp\.json -->\n```json\n([\s\S]*?)```/.exec(
    readFileSync(join(folder, "README.md"), "utf8"),
  )!;
  const home = mkdtempSync(join(tmpdir(), "bonsai-mcp-readme-"));
  try {
    writeFileSync(join(home, "mcp.json"), text);
    const { servers, problems } = readConfig({ cwd: home, home, isProjectTrusted: false, env: {} });
    expect(problems).toEqual([]);
    expect(servers.map(({ name, type }) => [name, type])).toEqual([
      ["files", "stdio"],
      ["docs", "http"],
    ]);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
