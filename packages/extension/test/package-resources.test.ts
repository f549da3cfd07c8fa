import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { packageResources } from "../src/load/package-resources.ts";
import { scratchModules } from "./scratch.ts";

function packageWith(manifest: object | undefined, ...files: readonly string[]): string {
  const { folder } = scratchModules();
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), "text");
  }
  if (manifest !== undefined) writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

function found(folder: string, kind: "skills" | "prompts" | "themes") {
  const { paths, problems } = packageResources(folder, kind);
  return {
    paths: paths.map((path) => relative(folder, path)),
    problems: problems.map(({ message }) => message),
  };
}

test("a package that lists nothing has the resources in its folders of those names", () => {
  const folder = packageWith({ name: "plain" }, "skills/a/SKILL.md", "prompts/x.md", "other/y.md");
  expect(found(folder, "skills")).toEqual({ paths: ["skills"], problems: [] });
  expect(found(folder, "prompts")).toEqual({ paths: ["prompts"], problems: [] });
  expect(found(folder, "themes")).toEqual({ paths: [], problems: [] });
});

test("a package's list counts instead of its folders, bonsai's before pi's", () => {
  const pi = { skills: ["./of-pi"], themes: ["themes/*.json"] };
  const folder = packageWith(
    { bonsai: { skills: ["./mine"] }, pi },
    "mine/a/SKILL.md",
    "of-pi/b/SKILL.md",
    "themes/night.json",
    "themes/.draft.json",
    "prompts/x.md",
  );
  expect(found(folder, "skills").paths).toEqual(["mine"]);
  expect(found(folder, "themes").paths).toEqual(["themes/night.json"]);
  expect(found(folder, "prompts").paths).toEqual([]);
});

test("an exclamation mark excludes files or folders", () => {
  const folder = packageWith(
    { pi: { prompts: ["./prompts", "!prompts/old*"], skills: ["skills", "!skills/b"] } },
    "prompts/new.md",
    "prompts/old.md",
    "prompts/notes.txt",
    "skills/a/SKILL.md",
    "skills/a/references/more.md",
    "skills/b/SKILL.md",
  );
  expect(found(folder, "prompts").paths).toEqual(["prompts/new.md"]);
  expect(found(folder, "skills").paths).toEqual(["skills/a/SKILL.md"]);
});

test("a wrong entry of a list is a problem, other lists are ignored", () => {
  const wrong = packageWith({ bonsai: { prompts: ["../../secrets", "none/*.md", "gone.md"], themes: 7 } });
  expect(found(wrong, "prompts")).toEqual({
    paths: [],
    problems: [
      "It lists ../../secrets, which is outside its folder.",
      "It lists none/*.md, but no file matches.",
      "It does not exist.",
    ],
  });
  expect(found(wrong, "themes").problems[0]).toContain("It has an error at bonsai.themes");
  expect(found(packageWith(undefined), "themes")).toEqual({ paths: [], problems: [] });
});
