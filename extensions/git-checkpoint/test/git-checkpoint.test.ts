import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
  files,
  folder,
  git,
  list,
  notes,
  ownState,
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
