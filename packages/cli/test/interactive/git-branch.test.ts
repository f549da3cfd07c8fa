import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { gitBranch } from "../../src/interactive/status/footer-facts.ts";
import { testFolder } from "../call/sample-session.ts";

function folderWith(files: Record<string, string>): string {
  const folder = testFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

test("a folder has the branch of its repository", () => {
  const folder = folderWith({ ".git/HEAD": "ref: refs/heads/feature/apples\n", "src/deep/a.ts": "" });
  expect(gitBranch(folder)).toBe("feature/apples");
  expect(gitBranch(join(folder, "src", "deep"))).toBe("feature/apples");
});

test("a commit that is checked out is shown by its first digits", () => {
  const folder = folderWith({ ".git/HEAD": "50cf1e9f0b8b3a3f0b8b3a3f0b8b3a3f0b8b3a3f\n" });
  expect(gitBranch(folder)).toBe("50cf1e9");
});

test("a worktree has the branch of its own", () => {
  const folder = folderWith({
    "main/.git/HEAD": "ref: refs/heads/main\n",
    "main/.git/worktrees/side/HEAD": "ref: refs/heads/side\n",
    "side/.git": "gitdir: ../main/.git/worktrees/side\n",
  });
  expect(gitBranch(join(folder, "side"))).toBe("side");
});

test("an unreadable HEAD has no branch", () =>
  everyRow([
    ["an empty HEAD", { ".git/HEAD": "" }],
    ["a HEAD that says something else", { ".git/HEAD": "what?\n" }],
    [
      "what stands in HEAD where references are kept elsewhere",
      { ".git/HEAD": "ref: refs/heads/.invalid\n" },
    ],
    ["a worktree whose repository is gone", { ".git": "gitdir: /gone/for/good\n" }],
  ])(([_name, files]) => {
    const folder = folderWith(files);
    expect(gitBranch(folder)).toBeUndefined();
  }));
