import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
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

describe("the text of a file", () => {
  test("its text, without a byte-order mark and the space around", async () => {
    using folder = toolFolder();
    folder.write("a/AGENTS.md", "\ufeff\nUse tabs.\n\n");
    expect(await instructionsFor(folder, "a")).toEqual([{ path: "a/AGENTS.md", text: "Use tabs." }]);
  });

  test("32 KB at most, cut on a character, with a mark", async () => {
    using folder = toolFolder();
    folder.write("a/AGENTS.md", `x${"ü".repeat(20_000)}`);
    const [found] = await instructionsFor(folder, "a");
    expect(found?.text).toBe(`x${"ü".repeat(16_383)}\n[Cut after 32 KB. Read the file for the rest.]`);
    expect(found?.problem).toContain("is longer than 32 KB");
  });

  test("exactly 32 KB are read whole", async () => {
    using folder = toolFolder();
    folder.write("a/AGENTS.md", "x".repeat(32 * 1024));
    expect((await instructionsFor(folder, "a"))[0]).not.toHaveProperty("problem");
  });

  test("nothing of what is no text", async () => {
    using folder = toolFolder();
    folder.write("a/AGENTS.md", "\x7fELF\0\0");
    const [found] = await instructionsFor(folder, "a");
    expect(found).toMatchObject({ text: "", problem: expect.stringContaining("it is not a text file.") });
  });

  test("nothing of a folder, a pipe or a broken link, and that is said", async () => {
    using folder = toolFolder();
    mkdirSync(join(folder.path, "a/b/c/AGENTS.md"), { recursive: true });
    execFileSync("mkfifo", [join(folder.path, "a/b/AGENTS.md")]);
    symlinkSync("nowhere", join(folder.path, "a/AGENTS.md"));
    const found = await instructionsFor(folder, "a/b/c");
    expect(found.map(({ text }) => text)).toEqual(["", "", ""]);
    expect(found.map(({ problem }) => problem?.replace(/.*AGENTS.md: /, ""))).toEqual([
      expect.stringMatching(/^ENOENT/),
      "it is not a regular file.",
      "it is not a regular file.",
    ]);
  });
});

describe("empty files and files in another encoding", () => {
  test("an empty file does not hide the next one", async () => {
    using folder = toolFolder();
    folder.write("repo/.git/HEAD", "");
    folder.write("repo/AGENTS.md", " \n");
    folder.write("repo/CLAUDE.md", "Use tabs.");
    expect(await instructionsFor(folder, "repo")).toEqual([{ path: "repo/CLAUDE.md", text: "Use tabs." }]);
  });

  const encodings = [
    ["with a mark", "\ufeffUse tabs. Übung.\n"],
    ["without a mark", "Use tabs. Übung.\n"],
  ] as const;
  test("UTF-16 is read with a mark and without", async () => {
    for (const [name, text] of encodings) {
      using folder = toolFolder();
      folder.write("repo/.git/HEAD", "");
      folder.write("repo/AGENTS.md", Buffer.from(text, "utf16le"));
      expect
        .soft(await instructionsFor(folder, "repo"), name)
        .toEqual([{ path: "repo/AGENTS.md", text: "Use tabs. Übung." }]);
    }
  });
});
