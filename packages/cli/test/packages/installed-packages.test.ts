import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { installedPackages } from "../../src/call/installed-packages.ts";
import { installPackage, removePackage } from "../../src/packages/install.ts";
import { extensionPackage, npmInstalling, testFolder, writePackage } from "./npm-registry.ts";

interface Attempt {
  home: string;
  now?: () => number;
}

function attempt(
  source: string,
  env: Readonly<Record<string, string | undefined>>,
  { home, ...more }: Attempt,
) {
  return installPackage({ home, source, cwd: home, env, ...more });
}

/** What stands in `<home>/packages`. */
function left(home: string): string[] {
  const packages = join(home, "packages");
  return existsSync(packages) ? readdirSync(packages) : [];
}

describe("several at once", () => {
  test("different packages are all installed, and removing one deletes its copy", async () => {
    const home = testFolder();
    const names = ["one", "@acme/notes"];
    await Promise.all(
      names.map((name) =>
        attempt(`npm:${name}`, npmInstalling(extensionPackage("1.0.0", { name })), { home }),
      ),
    );
    const { packages, problems } = installedPackages(home);
    expect([packages.map(({ name }) => name).toSorted(), problems]).toEqual([names.toSorted(), []]);
    for (const { folder } of packages) expect(existsSync(join(folder, "index.ts"))).toBe(true);
    for (const each of packages) expect(removePackage({ home, cwd: home, package: each.name })).toEqual(each);
    expect([left(home), installedPackages(home).packages]).toEqual([[], []]);
  });
});

test("a killed installation's folder is removed after a day", async () => {
  const home = testFolder();
  const [old, young] = [".staging-old", ".staging-young"];
  for (const name of [old, young]) mkdirSync(join(home, "packages", name), { recursive: true });
  utimesSync(join(home, "packages", old), new Date(0), new Date(0));
  await attempt("npm:bonsai-notes", npmInstalling(extensionPackage("1.0.0")), { home });
  expect(left(home).filter((name) => name.startsWith("."))).toEqual([young]);
});

describe("a damaged record", () => {
  test("is a problem of its own, and installing again mends it", () =>
    everyRow([
      "",
      "{",
      "null",
      "[]",
      '{"name": "bonsai-notes"}',
      '{"name": "bonsai-notes", "source": "notes", "addedAt": "2026-11-21T00:00:00.000Z"}',
      '{"name": "other", "source": "/x", "addedAt": "2026-11-21T00:00:00.000Z"}',
    ])(async (text) => {
      const home = testFolder();
      const folder = writePackage(extensionPackage("1.0.0", { name: "sound" }), testFolder());
      await attempt(folder, {}, { home });
      const file = join(home, "packages", "bonsai-notes.json");
      writeFileSync(file, text);
      const { packages, problems } = installedPackages(home);
      expect(packages.map(({ name }) => name)).toEqual(["sound"]);
      expect(problems).toEqual([
        { path: file, message: expect.stringContaining(file), hint: expect.stringContaining("install") },
      ]);
      await attempt(writePackage(extensionPackage("1.0.0"), testFolder()), {}, { home });
      expect(installedPackages(home).problems).toEqual([]);
    }));
});

describe("removing", () => {
  test("finds a linked folder by name, source and path, and leaves it in place", () =>
    everyRow(["bonsai-notes", "npm:bonsai-notes", "npm:bonsai-notes@1.0.0", "notes", "./notes/"])(
      async (asked) => {
        const home = testFolder();
        const folder = writePackage(extensionPackage("1.0.0"), join(home, "notes"));
        await attempt("./notes", {}, { home });
        expect(removePackage({ home, cwd: home, package: asked }).folder).toBe(folder);
        expect([left(home), existsSync(join(folder, "index.ts"))]).toEqual([[], true]);
      },
    ));

  test("a package that is not installed is an error that lists the installed ones", async () => {
    const home = testFolder();
    const remove = () => removePackage({ home, cwd: home, package: "nobody" });
    expect(remove).toThrow(
      expect.objectContaining({ code: "package_not_installed", hint: "No packages are installed." }),
    );
    await attempt(writePackage(extensionPackage("1.0.0"), join(home, "notes")), {}, { home });
    expect(remove).toThrow(expect.objectContaining({ hint: "Installed packages: bonsai-notes." }));
  });
});
