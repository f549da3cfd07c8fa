import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test, vi } from "vitest";
import type { PathRequest } from "../../src/tools/path-guard.ts";
import { type ToolFolder, textOf, toolFolder } from "./tool-folder.ts";

/** A project with a secret beside it, and ways that lead there. */
function withSecret(options: Parameters<typeof toolFolder>[0] = {}): ToolFolder & { outside: string } {
  const folder = toolFolder(options);
  const outside = dirname(folder.path);
  writeFileSync(join(outside, "secret"), "secret");
  mkdirSync(join(outside, "project-two"));
  writeFileSync(join(outside, "project-two", "secret"), "secret");
  symlinkSync(join(outside, "secret"), join(folder.path, "link"));
  symlinkSync("..", join(folder.path, "up"));
  symlinkSync("../new", join(folder.path, "dangling"));
  folder.write("inside", "inside");
  return { ...folder, outside };
}

describe("outside the project", () => {
  const ways: [string, string, Record<string, unknown>][] = [
    ["read", "a way up", { path: "../secret" }],
    ["read", "a way up and down", { path: "src/../../secret" }],
    ["read", "a link", { path: "link" }],
    ["read", "a link to a folder", { path: "up/secret" }],
    ["read", "a folder whose name begins alike", { path: "../project-two/secret" }],
    ["read", "what is not there, which stays unsaid", { path: "../nothing" }],
    ["read", "an absolute path", { path: "/etc/passwd" }],
    ["read", "the home folder", { path: "~/x" }],
    ["write", "a link that leads to nothing yet", { path: "dangling", content: "x" }],
    ["write", "a new folder", { path: "up/new/file", content: "x" }],
    ["edit", "a link", { path: "link", oldText: "secret", newText: "x" }],
    ["ls", "the folder above", { path: ".." }],
    ["find", "the folder above", { path: "..", pattern: "*" }],
    ["grep", "the folder above", { path: "up", pattern: "secret" }],
  ];
  test("every tool refuses every way that leads there", async () => {
    for (const [tool, _name, input] of ways) {
      using folder = withSecret();
      await expect
        .soft(folder.run(tool, input), tool)
        .rejects.toThrow(/is outside the project .* setting paths\.allow\.$/);
    }
  });

  test("the user is asked, with the path that is meant, and decides", async () => {
    const asked: Omit<PathRequest, "signal">[] = [];
    using folder = withSecret({
      confirmPath: async ({ signal: _signal, ...request }) => {
        asked.push(request);
        return request.access === "read";
      },
    });
    const real = join(folder.outside, "secret");
    expect(textOf(await folder.run("read", { path: "link" }))).toBe("secret");
    await expect(folder.run("write", { path: "../secret", content: "x" })).rejects.toThrow(
      "The user did not allow you to change it.",
    );
    expect(asked).toEqual([
      { toolName: "read", path: real, access: "read" },
      { toolName: "write", path: real, access: "write" },
    ]);
  });

  const calls = [
    ["read", {}],
    ["edit", { oldText: "allowed", newText: "x" }],
    ["write", { content: "x" }],
  ] as const;
  test("no tool goes where a link leads that was put there after the check", async () => {
    for (const [tool, input] of calls) {
      using folder = withSecret({
        confirmPath: async ({ path }) => {
          rmSync(dirname(path), { recursive: true });
          symlinkSync("project-two", dirname(path));
          return true;
        },
      });
      mkdirSync(join(folder.outside, "asked"));
      writeFileSync(join(folder.outside, "asked", "secret"), "allowed");
      await expect
        .soft(folder.run(tool, { path: "../asked/secret", ...input }), tool)
        .rejects.toThrow(/it now points to .*project-two.secret/);
      expect.soft(readFileSync(join(folder.outside, "project-two", "secret"), "utf8"), tool).toBe("secret");
    }
  });

  test("does not ask about paths that the settings allow", async () => {
    using folder = withSecret({ paths: { allow: ["../project-two"] } });
    expect(textOf(await folder.run("read", { path: "../project-two/secret" }))).toBe("secret");
    await folder.run("write", { path: "../project-two/new", content: "x" });
    await expect(folder.run("read", { path: "../secret" })).rejects.toThrow("outside the project");
  });

  test("allows reading, but not changing, of readable folders", async () => {
    using folder = withSecret({ readable: () => ["../secret"] });
    expect(textOf(await folder.run("read", { path: "../secret" }))).toBe("secret");
    await expect(folder.run("write", { path: "../secret", content: "" })).rejects.toThrow("outside");
    await expect(folder.run("read", { path: "../project-two/secret" })).rejects.toThrow("outside");
  });

  test("an allowed path that cannot be resolved does not affect the others", async () => {
    using folder = withSecret({ paths: { allow: ["../circle", "../secret"] } });
    symlinkSync("circle", join(folder.outside, "circle"));
    expect(textOf(await folder.run("read", { path: "../secret" }))).toBe("secret");
  });

  test("~ is the home folder, in the settings too", async () => {
    using home = toolFolder();
    vi.stubEnv("HOME", home.path);
    home.write("allowed/file", "found");
    using folder = toolFolder({ paths: { allow: ["~/allowed"] } });
    expect(textOf(await folder.run("read", { path: "~/allowed/file" }))).toBe("found");
    vi.unstubAllEnvs();
  });

  test("readable files can be read, but not changed", async () => {
    const readable = ["../AGENTS.md"];
    using folder = withSecret({ readable: () => readable });
    writeFileSync(join(folder.outside, "AGENTS.md"), "be kind");
    writeFileSync(join(folder.outside, "project-two", "AGENTS.md"), "secret");
    expect(textOf(await folder.run("read", { path: "../AGENTS.md" }))).toBe("be kind");
    await expect(folder.run("read", { path: "../project-two/AGENTS.md" })).rejects.toThrow("outside");
    await expect(folder.run("write", { path: "../AGENTS.md", content: "" })).rejects.toThrow("outside");
  });
});

describe("inside the project", () => {
  const paths = [
    ["a plain path", () => "inside"],
    ["an absolute path", (path: string) => join(path, "inside")],
    ["a file URL", (path: string) => pathToFileURL(join(path, "inside")).href],
    ["a way out and in again", () => "../project/inside"],
    ["a link and in again", () => "up/project/inside"],
  ] as const;
  test("a file is read by each of its paths", async () => {
    for (const [name, pathIn] of paths) {
      using folder = withSecret();
      expect.soft(textOf(await folder.run("read", { path: pathIn(folder.path) })), name).toBe("inside");
    }
  });

  test("a project that is reached through a link is the project", async () => {
    using folder = withSecret();
    symlinkSync(folder.path, join(folder.outside, "alias"));
    using alias = toolFolder({ cwd: join(folder.outside, "alias") });
    expect(textOf(await alias.run("read", { path: join(folder.path, "inside") }))).toBe("inside");
    expect(textOf(await alias.run("read", { path: "inside" }))).toBe("inside");
  });
});
