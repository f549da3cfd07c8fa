import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
  callsOf,
  files,
  folder,
  git,
  list,
  notes,
  put,
  refs,
  repository,
  session,
  shell,
  useFolders,
  userEntry,
} from "./checkpoint-session.ts";

useFolders();

describe("snapshots", () => {
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
});

describe("/tree", () => {
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

  test("a repository within the repository, with and without commits, stays as it is", async () => {
    repository();
    put({ "inner/x": "x\n", "empty/y": "y\n" });
    shell("git init -q empty; git init -q inner; cd inner; git commit -qm inner --allow-empty");
    const open = await session(["echo 1 > n; echo 2 > inner/x; rm -r inner/.git/hooks"]);
    await open.agent.navigate(userEntry(open, "Step 1"));
    expect(files()).toMatchObject({ "inner/x": "2\n", "empty/y": "y\n" });
    expect(files().n).toBeUndefined();
  });

  test("git that is ended from outside: no snapshot, and the next is taken", async () => {
    repository();
    git("config", "filter.fatal.clean", "test -e done && cat || { touch done; kill -9 $PPID; }");
    put({ ".gitattributes": "*.fatal filter=fatal\n", "x.fatal": "x\n" });
    const open = await session([{ n: "1\n" }]);
    expect(notes(open)).toEqual(["Could not save a file checkpoint: git add was stopped"]);
    expect((await list(open)).map((line) => line.replace(/^\S+ +\S+ +/, ""))).toEqual(['turn 1 of "Step 1"']);
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
