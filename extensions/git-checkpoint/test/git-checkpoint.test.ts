import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import gitCheckpoint from "../index.ts";

let folder: string;
let template: string | undefined;
const opened: TestSession[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-checkpoint-test-"));
  for (const [name, value] of Object.entries({
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: "a@b",
    GIT_COMMITTER_NAME: "A",
    GIT_COMMITTER_EMAIL: "a@b",
  }))
    vi.stubEnv(name, value);
});

afterEach(async () => {
  for (const session of opened.splice(0)) await session.close();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

afterAll(() => {
  if (template !== undefined) rmSync(template, { recursive: true });
});

function git(...args: string[]): string {
  return execFileSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}

function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** A repository with one commit. Made once; each test has a copy. */
function repository(): void {
  if (template === undefined) {
    // Without Git's sample hooks, which are most of its files.
    git("init", "-q", "-b", "main", "--template=");
    put({ "a.txt": "a0\n", ".gitignore": "ignored\n" });
    git("add", "-A");
    git("commit", "-qm", "begin");
    template = mkdtempSync(join(tmpdir(), "bonsai-checkpoint-template-"));
    cpSync(folder, template, { recursive: true });
  } else cpSync(template, folder, { recursive: true });
}

function files(): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !`${entry.parentPath}/`.includes("/.git/"))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  return Object.fromEntries(names.toSorted().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

function refs(): string[] {
  return git("for-each-ref", "--format=%(refname)", "refs/bonsai").split("\n").filter(Boolean);
}

/** Runs many commands in one shell, because starting a process is slow. */
function shell(script: string): string {
  return execFileSync("/bin/sh", ["-c", script], { cwd: folder, encoding: "utf8" });
}

/** The user's own state in git, which must stay as it is. */
function ownState(): string {
  return shell(
    "cat .git/HEAD; git ls-files --stage; git for-each-ref refs/heads refs/remotes refs/tags refs/stash",
  );
}

/** A command of the shell, or the files to write: that starts no process. */
type Step = string | Record<string, string>;

function callsOf(step: Step): { calls: { name: string; arguments: Record<string, string> }[] } {
  if (typeof step === "string") return { calls: [{ name: "bash", arguments: { command: step } }] };
  const files = Object.entries(step);
  return { calls: files.map(([path, content]) => ({ name: "write", arguments: { path, content } })) };
}

/** A session in which each prompt does one step. */
async function session(steps: Step[], options: OpenTestSessionOptions = {}): Promise<TestSession> {
  const answers = steps.flatMap((step) => [callsOf(step), "Done."]);
  const open = await openTestSession({
    extensions: gitCheckpoint,
    ui: { confirm: true },
    cwd: folder,
    answers,
    ...options,
  });
  opened.push(open);
  for (const at of steps.keys()) await open.prompt(`Step ${at + 1}`);
  return open;
}

function userEntry({ session }: TestSession, text: string): string {
  return session.projection().items.find(({ message }) => JSON.stringify(message).includes(text))!.entryId;
}

function notes({ ui }: TestSession): unknown[] {
  return ui.filter(({ method }) => method === "notify").map(({ args }) => args[0]);
}

async function list(open: TestSession): Promise<string[]> {
  await open.command("/checkpoints");
  return (notes(open).at(-1) as string).split("\n");
}

describe("snapshots", () => {
  test("are taken before the first change and after each turn or pause with changes, without unfinished files, and do not change the user's git", async () => {
    repository();
    put({ "a.txt": "staged\n" });
    git("add", "a.txt");
    put({ "a.txt": "not staged\n", "new.txt": "untracked\n", ignored: "left out\n" });
    // Another session is still writing these files.
    put({ ".bonsai-1234.tmp": "half\n", "d/.bonsai-5678.tmp": "half\n" });
    const status = () => [ownState(), git("status", "--porcelain")];
    const before = status();
    const open = await session([{ "b.txt": "b\n" }, "cat b.txt", "rm new.txt"]);
    put({ mine: "m" });
    await open.prompt("And now?").catch(() => {});
    const listed = await list(open);
    expect(listed.map((line) => line.replace(/^\S+ +\S+ +/, ""))).toEqual([
      'before "And now?"',
      'turn 1 of "Step 3"',
      'turn 1 of "Step 1"',
      'before "Step 1"',
    ]);
    expect(refs()).toHaveLength(4);
    const commits = listed.map((line) => line.slice(0, 7));
    const trees = shell(
      commits.map((commit) => `git ls-tree -r --name-only ${commit}; echo; `).join(""),
    ).split("\n\n");
    const [, last, second, first] = trees.map((names) => names.split("\n"));
    expect(first).toEqual([".gitignore", "a.txt", "new.txt"]);
    expect(second).toEqual([".gitignore", "a.txt", "b.txt", "new.txt"]);
    expect(last).toEqual([".gitignore", "a.txt", "b.txt"]);
    expect(git("show", `${commits[3]}:a.txt`)).toBe("not staged");
    for (const name of ["b.txt", "mine"]) rmSync(join(folder, name));
    put({ "new.txt": "untracked\n" });
    expect(status()).toEqual(before);
  });

  test("in a repository without commits, and from a folder within it", async () => {
    git("init", "-q");
    put({ "sub/x.txt": "x\n", "top.txt": "t\n" });
    const open = await session([{ "y.txt": "y\n" }], { cwd: join(folder, "sub") });
    const [newest] = (await list(open)).map((line) => line.slice(0, 7));
    const found = shell(`git for-each-ref refs/heads; git ls-tree -r --name-only ${newest}`);
    expect(found).toBe("sub/x.txt\nsub/y.txt\ntop.txt\n");
  });

  test("beyond those to keep the oldest go, also those of other sessions", async () => {
    repository();
    await session([{ a: "1\n" }], { flags: { "checkpoint-keep": "1" } });
    const [kept, ...others] = refs();
    expect(others).toEqual([]);
    await session([{ a: "2\n" }], { flags: { "checkpoint-keep": "1" } });
    expect(refs()).toEqual([expect.not.stringContaining(kept!)]);
  });

  test("ignore a file that disappears while git reads the folder", async () => {
    repository();
    put({ ".gitattributes": "gone filter=gone\n", gone: "x\n" });
    // Git fails once, as it does for such a file.
    const filter = "test -e .git/failed && cat || { touch .git/failed; exit 1; }";
    shell(`git config filter.gone.required true; git config filter.gone.clean '${filter}'`);
    const open = await session([{ b: "1\n" }]);
    expect(existsSync(join(folder, ".git/failed"))).toBe(true);
    expect([...notes(open), ...open.notices]).toEqual([]);
    expect(refs()).toHaveLength(2);
  });

  test("two sessions at once keep each other's snapshots and leave only refs", async () => {
    repository();
    vi.stubEnv("TMPDIR", join(folder, ".git"));
    const [one, other] = await Promise.all([session([{ one: "1\n" }]), session([{ other: "2\n" }])]);
    expect(new Set(refs().map((ref) => ref.split("/")[3]))).toEqual(
      new Set([one.session.id, other.session.id]),
    );
    expect([...notes(one), ...notes(other), ...one.notices, ...other.notices]).toEqual([]);
    const mine = () =>
      readdirSync(join(folder, ".git")).filter((name) => name.startsWith("bonsai-checkpoint-"));
    expect(mine()).toHaveLength(2);
    await Promise.all([one.close(), other.close()]);
    expect(mine()).toEqual([]);
  });
});

describe("/tree", () => {
  test("brings the files back, asks first, and loses nothing", async () => {
    repository();
    const open = await session([{ "a.txt": "a1\n", "d/new": "n\n" }, "rm .gitignore; echo a2 > a.txt"]);
    put({ mine: "by hand\n", ignored: "i\n" });
    const atEnd = files();
    const leaf = open.session.leafId!;
    const before = ownState();
    await open.agent.navigate(userEntry(open, "Step 2"));
    expect(open.ui.find(({ method }) => method === "confirm")!.args).toEqual([
      "Restore the files too?",
      "Files: 1 changed, 1 added, 2 deleted:\n  added .gitignore\n  changed a.txt\n  deleted ignored\n  deleted mine",
    ]);
    expect(files()).toEqual({ ".gitignore": "ignored\n", "a.txt": "a1\n", "d/new": "n\n" });
    expect(ownState()).toEqual(before);
    await open.agent.navigate(userEntry(open, "Step 1"));
    expect(files()).toEqual({ ".gitignore": "ignored\n", "a.txt": "a0\n" });
    await open.agent.navigate(leaf);
    expect(files()).toEqual(atEnd);
    expect(notes(open)).toHaveLength(3);
    expect(notes(open)[0]).toMatch(
      /^Restored the files\. Files: 1 changed, 1 added, 2 deleted\. Checkpoint of the previous state: \w{7}$/,
    );
  });

  test("restores the files in the middle of a run, and leaves them alone in a merge", async () => {
    repository();
    const answers = [callsOf({ n: "1\n" }), callsOf({ n: "2\n" }), "Done."];
    const open = await session([], { answers });
    await open.prompt("Go on.");
    const branchId = open.session.leafId!;
    const [first] = open.session.projection().items.filter(({ message }) => message.role === "toolResult");
    await open.agent.navigate(first!.entryId);
    expect(files().n).toBe("1\n");
    await open.agent.navigate(userEntry(open, "Go on."));
    const [atBegin, refsBefore, asked] = [files(), refs(), open.ui.length];
    expect(atBegin.n).toBeUndefined();
    expect(await open.agent.merge(branchId, { useDigest: true })).toMatchObject({ status: "merged" });
    expect([files(), refs(), open.ui.length]).toEqual([atBegin, refsBefore, asked]);
  });

  test("changes nothing if the user declines or a merge is in progress, and asks only if files would change", async () => {
    repository();
    const open = await session([{ n: "1\n" }, "cat n"], { ui: { confirm: false } });
    const [first, second] = ["Step 1", "Step 2"].map((text) => userEntry(open, text));
    await open.agent.navigate(second!);
    expect(open.ui).toEqual([]);
    await open.agent.navigate(first!);
    expect(files().n).toBe("1\n");
    expect(notes(open)).toEqual(["Did not restore the files."]);
    put({ "a.txt": "merged\n" });
    shell("git rev-parse HEAD > .git/MERGE_HEAD");
    await open.agent.navigate(second!);
    expect(notes(open).at(-1)).toBe("Did not restore the files: a git merge is in progress.");
    expect(files()).toMatchObject({ n: "1\n", "a.txt": "merged\n" });
  });

  test("changes nothing without a user to ask", async () => {
    repository();
    const open = await session([{ n: "1\n" }], { ui: undefined as never });
    await open.agent.navigate(userEntry(open, "Step 1"));
    expect(files().n).toBe("1\n");
    expect(open.notices.map(({ message }) => message).join()).toContain("--checkpoint-restore");
  });

  test("stops if an ignored file would be overwritten by a folder, or a folder by a file; a tracked one may be", async () => {
    repository();
    put({ "d/x": "wanted\n", f: "file\n" });
    const open = await session(["rm -r d f; mkdir f; echo in > f/in; echo t > d"]);
    const step = userEntry(open, "Step 1");
    const leaf = open.session.leafId!;
    await open.agent.navigate(step);
    expect(files()).toMatchObject({ "d/x": "wanted\n", f: "file\n" });
    await open.agent.navigate(leaf);
    expect(files()).toMatchObject({ d: "t\n", "f/in": "in\n" });
    put({ ".gitignore": "ignored\nd\nkept\n", "f/kept": "k\n" });
    const before = files();
    rmSync(join(folder, "d"));
    put({ d: "ignored now\n" });
    await open.agent.navigate(step);
    expect(files()).toEqual({ ...before, d: "ignored now\n" });
    expect(notes(open).at(-1)).toMatch(/git ignores .*, and restoring would overwrite it$/);
  });
});

test("a fork restores the files too, and with the flag even without a user to ask; a missing checkpoint only causes a notice", async () => {
  repository();
  const open = await session([{ n: "1\n" }], {
    ui: undefined as never,
    flags: { "checkpoint-restore": true },
  });
  const told = () => open.notices.map(({ message }) => message);
  const leafId = open.session.leafId!;
  open.session.moveTo(open.session.entries().find((entry) => entry.type === "message")!.parentId);
  await open.lifecycle.notify("session_start", { type: "session_start", reason: "fork" });
  expect(files().n).toBeUndefined();
  shell(`
    git for-each-ref --format='delete %(refname)' refs/bonsai | git update-ref --stdin
    git prune --expire=now
  `);
  await open.agent.navigate(leafId);
  expect(told().at(-1)).toMatch(/Could not restore the files: the checkpoint \w{7} no longer exists$/);
  expect(files().n).toBeUndefined();
});

describe("no checkpoints", () => {
  test("outside of git: no files, no notices, and /checkpoints says why", async () => {
    const open = await session([{ n: "1\n" }]);
    expect(await list(open)).toEqual(["Checkpoints are not available: this folder is not a git repository."]);
    expect(open.notices).toEqual([]);
    await open.agent.navigate(userEntry(open, "Step 1"));
    expect(files()).toEqual({ n: "1\n" });
  });

  test("without git on the machine", async () => {
    repository();
    vi.stubEnv("PATH", folder);
    const open = await session([]);
    expect(await list(open)).toEqual(["Checkpoints are not available: git is not installed."]);
  });

  test("before the first prompt, even with a damaged entry", async () => {
    repository();
    const open = await session([]);
    expect(await list(open)).toEqual(["No checkpoints yet."]);
    open.session.append({
      type: "custom",
      customType: "git-checkpoint",
      data: { commit: "--help", tree: 7 },
    });
    expect(await list(open)).toEqual(["No checkpoints yet."]);
  });
});

describe("obstacles", () => {
  test("a repository too big for the time limit: notified once, and no more checkpoints in this session", async () => {
    repository();
    git("config", "filter.slow.clean", "sleep 20");
    put({ ".gitattributes": "*.slow filter=slow\n", "x.slow": "x\n" });
    const open = await session([{ n: "1\n" }], { flags: { "checkpoint-seconds": "2" } });
    expect(notes(open)).toEqual(["Checkpoints are off for this session: git add took longer than 2 s"]);
    expect(await list(open)).toEqual(["Checkpoints are not available: git add took longer than 2 s."]);
    expect(files().n).toBe("1\n");
  });

  test("git that is ended from outside: no snapshot, and the next is taken", async () => {
    repository();
    git("config", "filter.fatal.clean", "test -e done && cat || { touch done; kill -9 $PPID; }");
    put({ ".gitattributes": "*.fatal filter=fatal\n", "x.fatal": "x\n" });
    const open = await session([{ n: "1\n" }]);
    expect(notes(open)).toEqual(["Could not save a file checkpoint: git add was stopped"]);
    expect((await list(open)).map((line) => line.replace(/^\S+ +\S+ +/, ""))).toEqual(['turn 1 of "Step 1"']);
  });

  test("a repository within the repository, with and without commits, stays as it is", async () => {
    repository();
    put({ "inner/x": "x\n", "empty/y": "y\n" });
    shell("git init -q empty; git init -q inner; cd inner; git commit -qm inner --allow-empty");
    const open = await session(["echo 1 > n; echo 2 > inner/x; rm -r inner/.git/hooks"]);
    await open.agent.navigate(userEntry(open, "Step 1"));
    expect(files()).toMatchObject({ "inner/x": "2\n", "empty/y": "y\n" });
    expect(files().n).toBeUndefined();
  });

  test("refs that cannot be written: notified once, and the work goes on", async () => {
    repository();
    git("update-ref", "refs/bonsai/checkpoints", "HEAD");
    const open = await session([{ n: "1\n" }]);
    expect(notes(open)).toHaveLength(1);
    expect(notes(open)[0]).toMatch(/^Could not save a file checkpoint: git update-ref failed/);
    expect(files().n).toBe("1\n");
  });
});
