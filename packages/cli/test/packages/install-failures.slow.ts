import { existsSync, readdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { installedPackages } from "../../src/call/installed-packages.ts";
import { installPackage } from "../../src/packages/install.ts";
import {
  extensionPackage,
  npmInstalling,
  npmRegistry,
  stubNpm,
  testFolder,
  writePackage,
} from "./npm-registry.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface Attempt {
  home?: string;
  signal?: AbortSignal;
  now?: () => number;
}

function attempt(source: string, env: Environment, { home = testFolder(), ...more }: Attempt = {}) {
  return installPackage({ home, source, cwd: home, env, ...more });
}

/** What stands in `<home>/packages`. */
function left(home: string): string[] {
  const packages = join(home, "packages");
  return existsSync(packages) ? readdirSync(packages) : [];
}

function npmFailing(code: string): Environment {
  return stubNpm(
    `printf 'npm error code ${code}\\nnpm error syscall open\\nnpm error words of npm\\n' >&2; exit 1`,
  );
}

describe("an installation that fails says why, and leaves nothing behind", () => {
  test("a name that the registry does not know", async () => {
    const home = testFolder();
    const { env } = await npmRegistry([]);
    await expect(attempt("npm:bonsai-notes", env, { home })).rejects.toMatchObject({
      code: "package_unknown",
      message: expect.stringContaining("npm:bonsai-notes"),
    });
    expect(left(home)).toEqual([]);
  });

  test("a tarball with another checksum than the registry's", async () => {
    const home = testFolder();
    const { env } = await npmRegistry([extensionPackage("1.0.0")], (path) =>
      path.endsWith(".tgz") ? { chunks: ["another file"] } : undefined,
    );
    await expect(attempt("npm:bonsai-notes", env, { home })).rejects.toMatchObject({
      code: "package_install_failed",
      message: expect.stringContaining("integrity"),
    });
    expect(left(home)).toEqual([]);
  });

  test("no npm", async () => {
    const home = testFolder();
    await expect(attempt("npm:bonsai-notes", { PATH: home }, { home })).rejects.toMatchObject({
      code: "npm_missing",
    });
    expect(left(home)).toEqual([]);
  });

  test("npm's error code decides Bonsai's, and npm's message is shown", () =>
    everyRow([
      ["E404", "package_unknown"],
      ["ETARGET", "package_unknown"],
      ["ENOSPC", "package_install_failed"],
      ["E401", "package_install_failed"],
    ])(async ([npmCode, code]) => {
      await expect(attempt("npm:bonsai-notes", npmFailing(npmCode))).rejects.toMatchObject({
        code,
        message: "Could not install npm:bonsai-notes: words of npm.",
      });
    }));

  test("an odd end of npm is a failed installation", () =>
    everyRow([
      ["echo 'npm error something odd' >&2; exit 1", "something odd"],
      ["exit 3", "exit code 3"],
      ["kill -9 $$", "exit code none"],
      [
        "mkdir -p node_modules/bonsai-notes; echo 'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write' >&2",
        "no space left",
      ],
    ])(async ([script, words]) => {
      const home = testFolder();
      await expect(attempt("npm:bonsai-notes", stubNpm(script), { home })).rejects.toMatchObject({
        code: "package_install_failed",
        message: expect.stringContaining(words),
      });
      expect(left(home)).toEqual([]);
    }));

  test("a package without extensions", () =>
    everyRow([{}, { extensions: ["./gone.ts"] }])(async (bonsai) => {
      const home = testFolder();
      const env = npmInstalling(extensionPackage("1.0.0", { manifest: { bonsai } }));
      await expect(attempt("npm:bonsai-notes", env, { home })).rejects.toMatchObject({
        code: "package_without_extensions",
        message: expect.stringContaining("npm:bonsai-notes"),
      });
      expect(left(home)).toEqual([]);
    }));

  test("a home that cannot be written to", async () => {
    const home = join(testFolder(), "home");
    writeFileSync(home, "a file");
    await expect(attempt("npm:bonsai-notes", {}, { home })).rejects.toMatchObject({ syscall: "mkdir" });
  });
});

test("an invalid source is refused without npm", () =>
  everyRow([
    "npm:",
    "npm:@acme",
    "npm:../up",
    "npm:a b",
    "npm:bonsai-notes@",
    "npm:bonsai-notes@git+ssh://host/x",
    "npm:bonsai-notes@npm:other",
    "npm:-g@../x",
    "git:host/bonsai-notes",
    "git+ssh://git@host/x.git",
    "git@host:acme/notes.git",
    "https://host/notes.tgz",
    "file:notes",
  ])(async (source) => {
    await expect(attempt(source, { PATH: "" })).rejects.toMatchObject({ code: "package_source_invalid" });
  }));

test("a path without extensions is refused", () =>
  everyRow([
    ["a file that is no module", "notes.md", "# Notes"],
    ["a folder without a word of extensions", "package.json", "{}"],
    ["a folder with a damaged package.json", "package.json", "{"],
    ["a folder that is empty", ".keep", ""],
  ])(async ([_what, name, text]) => {
    const folder = testFolder();
    const home = testFolder();
    writeFileSync(join(folder, name), text);
    const source = name.endsWith(".md") ? join(folder, name) : folder;
    await expect(attempt(source, {}, { home })).rejects.toMatchObject({
      code: "package_without_extensions",
      message: expect.stringContaining(source),
    });
    expect(left(home)).toEqual([]);
  }));

test("a missing path is named with the probable source", () =>
  everyRow([
    ["bonsai-notes", "npm:bonsai-notes"],
    ["@acme/notes", "npm:@acme/notes"],
    ["./bonsai-notes", "Give a folder"],
  ])(async ([source, hint]) => {
    await expect(attempt(source, {})).rejects.toMatchObject({
      code: "package_not_found",
      hint: expect.stringContaining(hint),
    });
  }));

describe("an installed package stays", () => {
  test("when updates fail, or are stopped while npm fetches", async () => {
    const home = testFolder();
    const first = npmInstalling(extensionPackage("1.0.0"));
    const { package: installed, entries } = await attempt("npm:bonsai-notes", first, { home });
    const before = left(home);
    const expectUnchanged = () => {
      expect(installedPackages(home).packages).toEqual([installed]);
      expect(readFileSync(entries[0]!, "utf8")).toContain("export default");
      expect(left(home)).toEqual(before);
    };
    await expect(attempt("npm:bonsai-notes", npmFailing("ETARGET"), { home })).rejects.toHaveProperty("code");
    expectUnchanged();
    const bare = npmInstalling(extensionPackage("2.0.0", { manifest: { bonsai: { extensions: [] } } }));
    await expect(attempt("npm:bonsai-notes@2.0.0", bare, { home })).rejects.toHaveProperty("code");
    expectUnchanged();
    const stop = new AbortController();
    const hanging = await npmRegistry([extensionPackage("2.0.0")], (path) => {
      if (!path.endsWith(".tgz")) return undefined;
      stop.abort(new Error("stopped"));
      return { end: "hang" };
    });
    const stopped = attempt("npm:bonsai-notes", hanging.env, { home, signal: stop.signal });
    await expect(stopped).rejects.toThrow("stopped");
    expectUnchanged();
  });

  test("when it was stopped before it began", async () => {
    const home = testFolder();
    const folder = writePackage(extensionPackage("1.0.0"), testFolder());
    await expect(
      attempt(folder, {}, { home, signal: AbortSignal.abort(new Error("stopped")) }),
    ).rejects.toThrow("stopped");
    expect(left(home)).toEqual([]);
  });
});

test("an npm that starts others ends with all of them", async () => {
  const stop = new AbortController();
  const folder = testFolder();
  // What holds the output open is waited for.
  const env = stubNpm(`trap '' INT TERM; sleep 1000 & touch '${folder}/begun'; wait`);
  const watcher = watch(folder, () => stop.abort(new Error("stopped")));
  await expect(attempt("npm:bonsai-notes", env, { signal: stop.signal })).rejects.toThrow("stopped");
  watcher.close();
});
