import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { installedPackages } from "../../src/call/installed-packages.ts";
import { installPackage } from "../../src/packages/install.ts";
import {
  extensionPackage,
  installer,
  NOW_MS,
  npmInstalling,
  npmRegistry,
  testFolder,
  writePackage,
} from "./npm-registry.ts";

/** The names in `<home>/packages`. */
function kept(home: string): string[] {
  return readdirSync(join(home, "packages"));
}

describe("a package of npm", () => {
  test("is copied to where Node strips its types, and recorded for its user alone; no peer is fetched and no script run", async () => {
    const peerDependencies = {
      "@bonsai-agent/extension": "*",
      "@earendil-works/pi-coding-agent": "*",
      typebox: "*",
    };
    const manifest = {
      peerDependencies,
      devDependencies: { vitest: "*" },
      scripts: { preinstall: "touch ran", install: "touch ran", postinstall: "touch ran" },
    };
    const { env, requests } = await npmRegistry([
      extensionPackage("1.0.0", { name: "@acme/notes", manifest }),
    ]);
    const { home, install } = installer(env);
    const { package: installed, entries, replaced } = await install("npm:@acme/notes");
    const { folder } = installed;
    expect(folder).toBe(join(home, "packages", "@acme+notes", "package"));
    expect(installed).toEqual({ name: "@acme/notes", folder, source: "npm:@acme/notes", version: "1.0.0" });
    expect([entries, replaced]).toEqual([[join(folder, "index.ts")], undefined]);
    expect(folder).not.toContain("node_modules");
    expect(installedPackages(home)).toEqual({ packages: [installed], problems: [] });
    expect(kept(home).toSorted()).toEqual(["@acme+notes", "@acme+notes.json"]);
    expect(statSync(join(home, "packages", "@acme+notes.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "packages")).mode & 0o777).toBe(0o700);
    expect(requests.map(({ path }) => decodeURIComponent(path))).toEqual([
      "/@acme/notes",
      "/@acme/notes/-/1.0.0.tgz",
    ]);
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  test("is updated by being installed again, also where its version stayed", async () => {
    const first = installer(npmInstalling(extensionPackage("1.0.0")));
    const before = await first.install("npm:bonsai-notes");
    const changed = extensionPackage("1.0.0", { files: { "index.ts": "export default () => 2;\n" } });
    const { install, home } = installer(npmInstalling(changed), first.home);
    const after = await install("npm:bonsai-notes");
    expect(after.replaced).toEqual(before.package);
    expect(readFileSync(after.entries[0]!, "utf8")).toContain("=> 2");
    expect(installedPackages(home).packages).toEqual([after.package]);
  });

  test("keeps its place in the order when it is updated", async () => {
    const home = testFolder();
    const folder = writePackage(extensionPackage("1.0.0"), testFolder());
    const at = (minute: number, source: string) =>
      installPackage({ home, source, cwd: home, env: {}, now: () => NOW_MS + minute * 60_000 });
    await at(0, folder);
    const lone = join(home, "lone.ts");
    writeFileSync(lone, "export default () => {};\n");
    await at(1, lone);
    await at(2, folder);
    expect(installedPackages(home).packages.map(({ name }) => name)).toEqual(["bonsai-notes", lone]);
  });

  test("with an invalid version is installed without one", async () => {
    const { install } = installer(npmInstalling(extensionPackage("../../../elsewhere")));
    expect((await install("npm:bonsai-notes")).package).not.toHaveProperty("version");
  });
});

describe("a folder or a module", () => {
  test("is used where it lies, under the name of its package.json", async () => {
    const folder = writePackage(extensionPackage("0.1.0"), testFolder());
    const { home, install } = installer({});
    const { package: installed, entries } = await install(relative(home, folder));
    expect(installed).toEqual({ name: "bonsai-notes", folder, source: folder, version: "0.1.0" });
    expect(entries).toEqual([join(folder, "index.ts")]);
    expect(kept(home)).toEqual(["bonsai-notes.json"]);
  });

  test("without a name of its own goes by its path", async () => {
    const home = testFolder();
    const path = join(home, "notes.ts");
    writeFileSync(path, "export default () => {};\n");
    const { package: installed, entries } = await installer({}, home).install("./notes.ts");
    expect([installed, entries]).toEqual([{ name: path, folder: path, source: path }, [path]]);
    expect(installedPackages(home).packages).toEqual([installed]);
  });

  test("takes the place of the copy of the same name, and the other way round", async () => {
    const { home, install } = installer(npmInstalling(extensionPackage("1.0.0")));
    const { package: copy } = await install("npm:bonsai-notes");
    const folder = writePackage(extensionPackage("1.1.0"), testFolder());
    expect((await install(folder)).replaced).toEqual(copy);
    expect(readdirSync(join(home, "packages"))).toEqual(["bonsai-notes.json"]);
    expect((await install("npm:bonsai-notes")).replaced?.folder).toBe(folder);
    expect(existsSync(folder)).toBe(true);
  });

  test("a renamed package is installed once", async () => {
    const folder = writePackage(extensionPackage("1.0.0"), testFolder());
    const { home, install } = installer({});
    await install(folder);
    writePackage(extensionPackage("1.0.0", { name: "renamed" }), folder);
    await install(folder);
    expect(installedPackages(home).packages.map(({ name }) => name)).toEqual(["renamed"]);
  });
});
