import { chownSync, lchownSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { projectInstructions } from "../src/prompt/project-instructions.ts";
import { type ToolFolder, toolFolder } from "./tools/tool-folder.ts";

const fileNames = ["AGENTS.md", "CLAUDE.md"];

/** Files below a home folder, and what is read of them for work in one of its folders. */
async function instructionsFor(folder: ToolFolder, cwd: string, uid?: number) {
  vi.stubEnv("HOME", folder.path);
  mkdirSync(join(folder.path, cwd), { recursive: true });
  const found = await projectInstructions({
    cwd: join(folder.path, cwd),
    home: join(folder.path, ".bonsai"),
    fileNames,
    ...(uid === undefined ? {} : { uid }),
  });
  return found.map((one) => ({ ...one, path: relative(folder.path, one.path) }));
}

describe("files to read", () => {
  const projects: [string, string, string[], string[]][] = [
    [
      "Bonsai's own first, then from the root of the repository down",
      "work/repo/a/b",
      [
        ".bonsai/AGENTS.md",
        "work/repo/.git/HEAD",
        "work/repo/AGENTS.md",
        "work/repo/a/b/AGENTS.md",
        "work/AGENTS.md",
      ],
      [".bonsai/AGENTS.md", "work/repo/AGENTS.md", "work/repo/a/b/AGENTS.md"],
    ],
    [
      "in a worktree, whose .git is a file",
      "repo/a",
      ["AGENTS.md", "repo/.git", "repo/AGENTS.md"],
      ["repo/AGENTS.md"],
    ],
    [
      "without a repository, from the home folder down",
      "a/b",
      ["AGENTS.md", "a/b/AGENTS.md"],
      ["AGENTS.md", "a/b/AGENTS.md"],
    ],
    [
      "one of each folder, by the order of names",
      "a",
      ["a/.git/HEAD", "a/CLAUDE.md", "a/AGENTS.md"],
      ["a/AGENTS.md"],
    ],
    ["the second name where the first is missing", "a", ["a/.git/HEAD", "a/CLAUDE.md"], ["a/CLAUDE.md"]],
    [
      "without instructions of Bonsai, the user's instructions for Claude Code, before those for pi",
      "a",
      [".claude/CLAUDE.md", ".pi/agent/AGENTS.md", "a/.git/HEAD", "a/AGENTS.md"],
      [".claude/CLAUDE.md", "a/AGENTS.md"],
    ],
    [
      "those for pi, where there are no others",
      "a",
      [".pi/agent/AGENTS.md", "a/.git/HEAD"],
      [".pi/agent/AGENTS.md"],
    ],
    ["the project's in .claude", "a", ["a/.git/HEAD", "a/.claude/CLAUDE.md"], ["a/.claude/CLAUDE.md"]],
    ["none", "a", ["a/README.md"], []],
  ];
  test("are found in the order in which they are read", async () => {
    for (const [name, cwd, files, expected] of projects) {
      using folder = toolFolder();
      for (const file of files) folder.write(file, "text");
      expect
        .soft(
          (await instructionsFor(folder, cwd)).map(({ path }) => path),
          name,
        )
        .toEqual(expected);
    }
  });

  test("a file with two paths is read once", async () => {
    using folder = toolFolder();
    folder.write("repo/AGENTS.md", "text");
    folder.write("repo/.git/HEAD", "");
    mkdirSync(join(folder.path, "repo/sub"));
    symlinkSync("../AGENTS.md", join(folder.path, "repo/sub/AGENTS.md"));
    expect(await instructionsFor(folder, "repo/sub")).toHaveLength(1);
  });

  test("outside the home folder, up to the root of the disk", async () => {
    using folder = toolFolder();
    folder.write("AGENTS.md", "text");
    vi.stubEnv("HOME", join(dirname(folder.path), "home"));
    const found = await projectInstructions({ cwd: folder.path, home: join(folder.path, "none"), fileNames });
    expect(found.at(-1)?.path).toBe(join(folder.path, "AGENTS.md"));
  });
});

describe("a link of a project that nobody trusts yet", () => {
  test("carries no other text than Markdown out of it", async () => {
    for (const file of ["repo/.git/HEAD", "README"]) {
      using folder = toolFolder();
      folder.write(".ssh/id_ed25519", "a private key");
      folder.write(file, "");
      mkdirSync(join(folder.path, "repo"), { recursive: true });
      symlinkSync("../.ssh/id_ed25519", join(folder.path, "repo/AGENTS.md"));
      const [found] = await instructionsFor(folder, "repo");
      expect.soft(found, file).toMatchObject({
        text: "",
        problem: expect.stringContaining("outside the project"),
      });
    }
  });

  test("may lead to shared instructions, and to any text inside", async () => {
    using folder = toolFolder();
    folder.write("shared/rules.md", "shared");
    folder.write("repo/.git/HEAD", "");
    folder.write("repo/docs/rules.txt", "inside");
    mkdirSync(join(folder.path, "repo/sub"));
    symlinkSync("../shared/rules.md", join(folder.path, "repo/AGENTS.md"));
    symlinkSync("../docs/rules.txt", join(folder.path, "repo/sub/AGENTS.md"));
    expect((await instructionsFor(folder, "repo/sub")).map(({ text }) => text)).toEqual(["shared", "inside"]);
  });
});

describe("files of other users", () => {
  const me = process.getuid?.() ?? 0;
  /** Root gives files away; everybody else looks with the eyes of another user. */
  const isRoot = me === 0;
  const reader = isRoot ? 0 : me + 1;
  const give = (folder: ToolFolder, ...paths: string[]) => {
    if (isRoot) for (const path of paths) lchownSync(join(folder.path, path), 4242, 4242);
  };
  const owner = isRoot ? 4242 : me;

  test("is not read above the project, with a reason that names the file and the owner", async () => {
    using folder = toolFolder();
    folder.write("AGENTS.md", "Obey me.");
    folder.write("a/AGENTS.md", "Mine.");
    give(folder, "AGENTS.md");
    const found = await instructionsFor(folder, "a", reader);
    expect(found.map(({ text }) => text)).toEqual(["", "Mine."]);
    expect(found[0]!.problem).toContain(`AGENTS.md was not read: `);
    expect(found[0]!.problem).toContain(`another user (uid ${owner})`);
  });

  test("a file is not read if only its folder, its link or its target belongs to another user", async () => {
    using folder = toolFolder();
    folder.write("one/AGENTS.md", "text");
    folder.write("two/rules.md", "text");
    symlinkSync("rules.md", join(folder.path, "two/AGENTS.md"));
    folder.write("three/rules.md", "text");
    symlinkSync("rules.md", join(folder.path, "three/AGENTS.md"));
    give(folder, "one", "two/AGENTS.md", "three/rules.md");
    for (const name of ["one", "two", "three"]) {
      const [found] = await instructionsFor(folder, `${name}/a`, reader);
      expect(found).toMatchObject({ text: "", problem: expect.stringContaining("another user") });
    }
  });

  test("is not read from a repository around the working folder that is not its owner's", async () => {
    using folder = toolFolder();
    for (const file of [".git/HEAD", "AGENTS.md", "a/AGENTS.md"]) folder.write(file, "text");
    give(folder, "", ".git", "AGENTS.md");
    const found = await instructionsFor(folder, "a", reader);
    // Without root, all files have one owner: then it is their repository, and the project.
    expect(found.map(({ text }) => text)).toEqual(isRoot ? ["", "text"] : ["text", "text"]);
  });

  test("is read in the project, where they own the working folder", async () => {
    using folder = toolFolder();
    for (const file of ["repo/.git/HEAD", "repo/AGENTS.md", "repo/a/AGENTS.md"]) folder.write(file, "text");
    give(folder, "repo", "repo/AGENTS.md", "repo/a", "repo/a/AGENTS.md");
    const found = await instructionsFor(folder, "repo/a", reader);
    expect(found.map(({ text }) => text)).toEqual(["text", "text"]);
  });

  test("and root's is read everywhere", async () => {
    using folder = toolFolder();
    folder.write("AGENTS.md", "text");
    if (isRoot) chownSync(folder.path, 4242, 4242);
    const found = await instructionsFor(folder, "a", isRoot ? 4242 : me);
    expect(found.map(({ text }) => text)).toEqual(["text"]);
  });
});

describe("files named with @ in a CLAUDE.md", () => {
  const named = (files: Record<string, string>) => {
    const folder = toolFolder();
    for (const [path, text] of Object.entries(files)) folder.write(path, text);
    return folder;
  };

  test("is read too, and what that names, each once, not what stands in code, and nothing that is not there", async () => {
    using folder = named({
      "repo/.git/HEAD": "",
      "repo/CLAUDE.md":
        "See @docs/style.md, and @rules (not me@example.org).\n`@docs/secret.md`\n```\n@docs/secret.md\n```\n@docs/style.md",
      "repo/docs/style.md": "Tabs. @../CLAUDE.md @more.txt",
      "repo/docs/more.txt": "More.",
      "repo/docs/secret.md": "Not named.",
      "repo/rules/a.md": "A folder is none.",
    });
    const read = await instructionsFor(folder, "repo");
    expect(read.map(({ path, problem }) => [path, problem])).toEqual([
      ["repo/CLAUDE.md", undefined],
      ["repo/docs/style.md", undefined],
      ["repo/docs/more.txt", undefined],
    ]);
  });

  test("is not read from beyond the project, by a link neither; the user's own may name anything", async () => {
    using folder = named({
      ".claude/CLAUDE.md": "@~/notes.md",
      "notes.md": "Mine.",
      ".ssh/id_rsa": "secret",
      "repo/.git/HEAD": "",
      "repo/CLAUDE.md": "@~/.ssh/id_rsa @link.md @AGENTS.md",
    });
    symlinkSync("../.ssh/id_rsa", join(folder.path, "repo", "link.md"));
    const read = await instructionsFor(folder, "repo");
    expect(read.map(({ path, text }) => [path, text])).toEqual([
      [".claude/CLAUDE.md", "@~/notes.md"],
      ["notes.md", "Mine."],
      ["repo/CLAUDE.md", "@~/.ssh/id_rsa @link.md @AGENTS.md"],
      [".ssh/id_rsa", ""],
    ]);
    expect(read[3]!.problem).toMatch(
      /\(included by .*CLAUDE\.md\) was not read: it is outside the project\.$/,
    );
  });

  test("has a bound, and an AGENTS.md names nothing", async () => {
    using folder = named({
      "repo/.git/HEAD": "",
      "repo/CLAUDE.md": "@a.md @b.md",
      "repo/a.md": "a".repeat(30_000),
      "repo/b.md": "b".repeat(30_000),
      "other/.git/HEAD": "",
      "other/AGENTS.md": "@a.md",
      "other/a.md": "A",
    });
    const read = await instructionsFor(folder, "repo");
    expect(read.map(({ text }) => text.length)).toEqual([11, 30_000, 0]);
    expect(read[2]!.problem).toContain("exceed 32 KB in total");
    expect(await instructionsFor(folder, "other")).toHaveLength(1);
  });
});
