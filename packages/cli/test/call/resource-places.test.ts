import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { type ResourcePlacesOptions, resourcePlaces } from "../../src/call/resource-places.ts";
import { testFolder } from "./sample-session.ts";

function folders(...made: readonly string[]): ResourcePlacesOptions & { folder: string } {
  const folder = testFolder();
  for (const name of ["user/.bonsai", "user/work", ...made])
    mkdirSync(join(folder, name), { recursive: true });
  const userHome = join(folder, "user");
  return {
    folder,
    userHome,
    home: join(userHome, ".bonsai"),
    cwd: join(userHome, "work"),
    isProjectTrusted: true,
  };
}

const names = (options: ResourcePlacesOptions, kind: "skills" | "prompts" | "themes") =>
  resourcePlaces(kind, options).map(
    ({ path, origin }) => `${origin} ${path.slice(dirname(options.userHome).length + 1)}`,
  );

test("the user's own stand under the project's, and Bonsai's above those of other agents", () => {
  expect(names(folders(), "prompts")).toEqual([
    "user user/.claude/commands",
    "user user/.pi/agent/prompts",
    "user user/.bonsai/prompts",
    "project user/work/.claude/commands",
    "project user/work/.pi/prompts",
    "project user/work/.bonsai/prompts",
  ]);
});

test("an untrusted project and the home folder have no parts", () => {
  const options = folders("user/.pi/prompts");
  const own = ["user user/.claude/commands", "user user/.pi/agent/prompts", "user user/.bonsai/prompts"];
  expect(names({ ...options, isProjectTrusted: false }, "prompts")).toEqual(own);
  expect(names({ ...options, cwd: options.userHome }, "prompts")).toEqual(own);
});

test("skills in .agents are those of each folder up to the repository's root", () => {
  const options = folders("repo/.git", "repo/a/b");
  const cwd = join(options.folder, "repo/a/b");
  const project = (all: readonly string[]) => all.filter((name) => name.startsWith("project"));
  expect(project(names({ ...options, cwd }, "skills"))).toEqual([
    "project repo/.agents/skills",
    "project repo/a/.agents/skills",
    "project repo/a/b/.claude/skills",
    "project repo/a/b/.pi/skills",
    "project repo/a/b/.agents/skills",
    "project repo/a/b/.bonsai/skills",
  ]);
  expect(project(names(options, "skills")).filter((name) => name.includes(".agents"))).toEqual([
    "project user/work/.agents/skills",
  ]);
});

test("a folder with two names counts once, with its stronger kind", () => {
  const options = folders("user/.claude/skills", "user/.agents");
  symlinkSync(join(options.userHome, ".claude/skills"), join(options.userHome, ".agents/skills"));
  expect(names({ ...options, isProjectTrusted: false }, "skills")).toEqual([
    "user user/.pi/agent/skills",
    "user user/.agents/skills",
    "user user/.bonsai/skills",
  ]);
});

test("packages come first; settings, extensions and flags count above the project", () => {
  const options = folders();
  const place = (origin: "package" | "settings" | "extension" | "flag") => ({
    path: join(options.folder, origin),
    origin,
  });
  const more = [place("flag"), place("extension"), place("settings"), place("package")];
  const all = names({ ...options, more }, "themes");
  expect(all[0]).toBe("package package");
  expect(all.slice(-3)).toEqual(["settings settings", "extension extension", "flag flag"]);
  expect(names({ ...options, more, onlyFlags: true }, "themes")).toEqual(["flag flag"]);
});
