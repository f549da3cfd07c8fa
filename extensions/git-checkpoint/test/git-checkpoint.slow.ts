import { existsSync, readdirSync } from "node:fs";
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
});
