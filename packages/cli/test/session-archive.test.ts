import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { header, sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const SECRET = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUv12";

interface Imported {
  file: string;
  outcome: string;
  settings: { name: string; value: unknown; here?: unknown }[];
  checkpoints?: { count: number; restored: number; reason?: string };
}

test("bonsai session export writes a .bonsai file without keys, which another home imports", async () => {
  const key = "a key that looks like words";
  const path = writeLines([
    ...sampleLines(),
    {
      type: "message",
      id: "00000fff",
      parentId: null,
      message: { role: "user", content: `${key}, ${SECRET}` },
    },
  ]);
  const [folder, home] = [testFolder(), testFolder()];
  writeFileSync(join(home, "settings.json"), JSON.stringify({ compaction: { keepRecentTokens: 999 } }));
  const env = { ANTHROPIC_API_KEY: key };
  const report = await jsonOf(["session", "export", path, "out.bonsai"], { cwd: folder, env });
  expect(report).toMatchObject({ format: "bonsai", file: join(folder, "out.bonsai"), redacted: 2 });
  // The beginning of a zip is enough.
  renameSync(join(folder, "out.bonsai"), join(folder, "out.zip"));
  const here = { cwd: folder, env: { BONSAI_HOME: home } };
  const imported = await jsonOf<Imported>(["session", "import", "out.zip"], here);
  const text = readFileSync(imported.file, "utf8");
  expect(text).toContain("[redacted: stored key], [redacted: API key]");
  expect(text).not.toMatch(/sk-ant|looks like words/);
  expect(imported.settings).toContainEqual({ name: "compaction.keepRecentTokens", value: 20_000, here: 999 });
  expect(readFileSync(join(home, "settings.json"), "utf8")).toContain("999");
  const { stdout } = await runCli(["session", "import", "out.zip"], here);
  expect(stdout).toMatch(
    /already here[\s\S]*Secrets were replaced[\s\S]*keepRecentTokens 20000 \(here 999\)/,
  );
  const shown = await jsonOf<{ file: string }>(["session", "show", header.id.slice(0, 8)], here);
  expect(shown.file).toBe(imported.file);
});

test("a .bonsai file has all branches, and no export overwrites a file", async () => {
  const path = writeLines(sampleLines());
  const folder = testFolder();
  const run = async (...argv: string[]) => {
    const { stderr } = await runCli(["session", ...argv, "--json"], { cwd: folder });
    return stderr === "" ? "done" : JSON.parse(stderr).error.code;
  };
  expect(await run("export", path, "a.bonsai", "--leaf", "bbbb0002")).toBe("wrong_usage");
  expect(readdirSync(folder)).toEqual([]);
  expect(await run("export", path, "a.bonsai", "--no-redact")).toBe("done");
  expect(await run("export", path, "a.bonsai", "--no-redact")).toBe("output_exists");
  expect(await run("import", "a.bonsai", "-o", "copy.jsonl")).toBe("done");
  expect(readFileSync(join(folder, "copy.jsonl")).equals(readFileSync(path))).toBe(true);
  expect(await run("import", "a.bonsai", "-o", "copy.jsonl")).toBe("output_exists");
  expect(await run("import", path, "--database", "postgres://localhost/x")).toBe("wrong_usage");
  expect(readdirSync(folder).sort()).toEqual(["a.bonsai", "copy.jsonl"]);
});

test("a file that is cut off is an error that says so", async () => {
  const folder = testFolder();
  writeFileSync(join(folder, "cut.bonsai"), "PK\x03\x04");
  const { code, stderr } = await runCli(["session", "import", "cut.bonsai", "--json"], { cwd: folder });
  expect([code, JSON.parse(stderr).error]).toEqual([
    1,
    expect.objectContaining({
      code: "archive_damaged",
      message: "Cannot import cut.bonsai: it is cut off, or no zip. Nothing was imported.",
    }),
  ]);
});

/** Runs git without the user's settings. */
function git(cwd: string, args: string[], input?: string): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const argv = ["-c", "init.defaultBranch=main", ...args];
  return execFileSync("git", argv, { cwd, env, input, encoding: "utf8", stdio: "pipe" }).trim();
}

test("git checkpoints come along into another clone, but not those with a secret", async () => {
  const folder = testFolder();
  const [first, second] = ["first", "second"].map((name) => join(folder, name)) as [string, string];
  const password = "zq81-rtw4-kkp2";
  const files = [`inline file.txt\ndata <<.\nplain`, `inline file.txt\ndata <<.\nthe ${password}`];
  const commit = (ref: string, rest: string) => `commit ${ref}\ncommitter A <a@b> 0 +0000\ndata 0\n${rest}\n`;
  const made = [...files, `inline ${SECRET}\ndata <<.\na name`].map((file, at) =>
    commit(`refs/made/${at}`, `from refs/heads/main\nM 100644 ${file}\n.\n`),
  );
  git(folder, ["init", "-q", "--template=", first]);
  git(first, ["fast-import", "--quiet"], commit("refs/heads/main", "") + made.join(""));
  git(folder, ["clone", "-q", "--template=", first, second]);
  const commits = git(first, ["for-each-ref", "--format=%(objectname)"]).split("\n");
  const [pushed = "", ...checkpoints] = commits;
  const refOf = (name: string) => `refs/bonsai/checkpoints/some-session/1-${name.slice(0, 12)}`;
  const refs = [
    ...commits.map((each) => `${each} ${refOf(each)}\n`),
    `${pushed} ${refOf("0".repeat(12))}\n`,
    `${pushed} refs/remotes/origin/main\n`,
  ];
  writeFileSync(
    join(first, ".git/packed-refs"),
    refs.sort((one, other) => (one.slice(41) < other.slice(41) ? -1 : 1)).join(""),
  );
  const entries = commits.map((each, at) => ({
    ...{ type: "custom", customType: "git-checkpoint", id: `0000000${at}`, parentId: null },
    data: { commit: each, tree: each, label: `DB_PASSWORD=${password}` },
  }));
  const path = writeLines([{ ...header, cwd: first }, ...entries]);
  const exported = (...argv: string[]) => jsonOf(["session", "export", path, ...argv], { cwd: folder });
  expect(await exported("redacted.bonsai")).toMatchObject({
    checkpoints: { count: 4, carried: 2, withSecrets: 2 },
  });
  expect(await exported("all.bonsai", "--no-redact")).toMatchObject({ checkpoints: { carried: 4 } });
  vi.stubEnv("PATH", folder);
  const withoutGit = await exported("none.bonsai").finally(() => vi.unstubAllEnvs());
  expect(withoutGit).toMatchObject({
    checkpoints: { carried: 0, reason: expect.stringContaining("git is not installed") },
  });
  const imported = (name: string, cwd: string) =>
    jsonOf<Imported>(["session", "import", join(folder, name)], {
      cwd,
      env: { BONSAI_HOME: join(folder, "home") },
    });

  const elsewhere = await imported("all.bonsai", folder);
  expect(elsewhere.checkpoints).toMatchObject({
    restored: 0,
    reason: expect.stringContaining("not in a git"),
  });
  expect(existsSync(elsewhere.file)).toBe(true);
  expect((await imported("redacted.bonsai", second)).checkpoints).toMatchObject({ count: 4, restored: 2 });
  expect(git(second, ["show", `${checkpoints[0]}:file.txt`])).toBe("plain");
  expect((await imported("all.bonsai", second)).checkpoints).toEqual({ count: 4, restored: 4 });
  const found = git(second, ["for-each-ref", "--format=%(objectname) %(refname)", "refs/bonsai"]).split("\n");
  expect(found.sort()).toEqual(checkpoints.map((each) => `${each} ${refOf(each)}`).sort());

  const foreign = join(folder, "foreign");
  git(folder, ["init", "-q", "--template=", foreign]);
  expect((await imported("all.bonsai", foreign)).checkpoints).toMatchObject({
    ...{ restored: 0, reason: expect.stringContaining("lacks commits") },
  });
  expect(git(foreign, ["for-each-ref"])).toBe("");
});
