import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { firstPartyExtensions } from "../../src/call/first-party.ts";
import { installedPackages } from "../../src/call/installed-packages.ts";
import { installPackage, removePackage } from "../../src/packages/install.ts";
import { updatePackages } from "../../src/packages/update.ts";
import { testFolder } from "./npm-registry.ts";

const root = join(import.meta.dirname, "../../../..");
const folders = readdirSync(join(root, "extensions"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test("are the packages in the folder extensions, in their own words", () => {
  const own = folders.map((name) => {
    const text = readFileSync(join(root, "extensions", name, "package.json"), "utf8");
    const manifest = JSON.parse(text) as { name: string; description: string };
    const description = manifest.description.replace(/^A Bonsai extension\. /, "");
    return { name, package: manifest.name, description };
  });
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);
  expect([...firstPartyExtensions].sort(byName)).toEqual(own.sort(byName));
});

test("are listed in the guide", () => {
  const guide = readFileSync(join(root, "docs/using.md"), "utf8");
  const links = [...guide.matchAll(/\[`([\w-]+)`\]\(\.\.\/extensions\/\1\/README\.md\)/g)];
  const names = new Set(links.map(([, name]) => name));
  expect([...names].sort()).toEqual(firstPartyExtensions.map(({ name }) => name).sort());
});

describe("a shipped extension", () => {
  /** Without npm on the PATH, nothing can come from a registry. */
  const env = { PATH: "" };

  test("each of Bonsai's own extensions is installed without npm", () =>
    everyRow(firstPartyExtensions.map(({ name }) => name))(async (name) => {
      const home = testFolder();
      const installed = await installPackage({ home, cwd: home, source: name, env });
      const folder = join(root, "extensions", name);
      const expected = { name: `@bonsai-agent/${name}`, source: `shipped:${name}`, folder };
      expect(installed.package).toEqual(expected);
      expect(installed.entries).toEqual([join(folder, "index.ts")]);
      expect(installedPackages(home)).toEqual({ packages: [expected], problems: [] });
    }));

  test("is removed by its short name, and its files stay", async () => {
    const home = testFolder();
    await installPackage({ home, cwd: home, source: "todo", env });
    expect(removePackage({ home, cwd: home, package: "todo" }).name).toBe("@bonsai-agent/todo");
    expect(installedPackages(home).packages).toEqual([]);
    expect(existsSync(join(root, "extensions/todo/index.ts"))).toBe(true);
  });

  test("is updated with the command, so an update asks no registry", async () => {
    const home = testFolder();
    await installPackage({ home, cwd: home, source: "todo", env });
    const [update] = await updatePackages({ home, cwd: home, env });
    expect(update).toMatchObject({ status: "shipped", after: { source: "shipped:todo" } });
  });

  test("is a problem if its record names no first-party extension", async () => {
    const home = testFolder();
    await installPackage({ home, cwd: home, source: "todo", env });
    const [file = ""] = readdirSync(join(home, "packages"));
    const record = join(home, "packages", file);
    writeFileSync(record, readFileSync(record, "utf8").replace("shipped:todo", "shipped:../todo"));
    const { packages, problems } = installedPackages(home);
    expect([packages, problems.map(({ path }) => path)]).toEqual([[], [record]]);
  });
});
