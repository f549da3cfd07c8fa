import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { firstPartyExtensions } from "../src/install/index.ts";

const root = join(import.meta.dirname, "../../..");
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
