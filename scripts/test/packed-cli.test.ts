import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { usePackedCommand } from "./packed-command.ts";

const cli = fileURLToPath(new URL("../../packages/cli", import.meta.url));
const command = usePackedCommand();

test("the installed command has one package and tells its version", () => {
  expect(readdirSync(join(command().installed, ".."))).toEqual(["bonsai-agent"]);
  const { version } = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"));
  expect(command().run("--version").stdout.trim()).toBe(version);
});

test("the installed command compacts a session", () => {
  const file = join(command().folder, "workday.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const before = readFileSync(file);
  const run = command().run(
    "compact",
    file,
    "--digest",
    "-o",
    join(command().folder, "copy.jsonl"),
    "--json",
  );
  expect(run.stderr).toBe("");
  const result = JSON.parse(run.stdout);
  expect(result.status).toBe("compacted");
  expect(result.tokensAfter).toBeLessThan(result.tokensBefore);
  expect(readFileSync(file).equals(before)).toBe(true);
  const last = readFileSync(join(command().folder, "copy.jsonl"), "utf8").trim().split("\n").at(-1)!;
  const { entryId: id, firstKeptEntryId } = result;
  expect(JSON.parse(last)).toMatchObject({ type: "compaction", id, firstKeptEntryId });
});

/** Libraries ask for these only to use them if they are there. */
const optional = ["supports-color", "kerberos"];

// A name that is looked up at run time is in node_modules of the sources, and nowhere in the bundle.
test("the bundle looks up no package by its name", () => {
  const lookups =
    /(?:__require|createRequire\([^()]*(?:\([^()]*\))?[^()]*\)|(?<!\{)\bimport)\(\s*"([^"]+)"\s*\)|^import[^"\n]*"([^"]+)";/gm;
  const files = readdirSync(join(command().installed, "dist"), { recursive: true, encoding: "utf8" });
  const names = files
    .filter((name) => /\.m?js$/.test(name) && !name.startsWith("photon"))
    .flatMap((name) => {
      const text = readFileSync(join(command().installed, "dist", name), "utf8");
      const found = [...text.matchAll(lookups)].map(([, called, imported]) => called ?? imported!);
      return found.map((each) => ({ name, each, isShipped: name.startsWith("extensions") }));
    })
    .filter(({ each }) => !/^[./]/.test(each) && !each.startsWith("node:") && !builtinModules.includes(each))
    // Shipped extensions get these from the command.
    .filter(({ each, isShipped }) => !(isShipped && /^(@bonsai-agent\/|zod(\/|$))/.test(each)))
    .filter(({ each }) => !optional.includes(each));
  expect(names).toEqual([]);
});
