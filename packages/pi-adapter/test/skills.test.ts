import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  formatSkillsForPrompt,
  loadSkills,
  loadSkillsFromDir,
  parseSkillBlock,
} from "../src/modules/coding-agent.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pi-skills-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const skill = (fields: string) => `---\n${fields}\n---\nDo it.`;

test("a folder's skills: each SKILL.md below it, and the Markdown files in it", () => {
  const file = put("a/SKILL.md", skill("name: parse\ndescription: Parses <it>"));
  put("a/below/SKILL.md", skill("description: Never reached"));
  put("b/deep/SKILL.md", skill("description: By its folder\ndisable-model-invocation: true"));
  put("b/notes.md", skill("description: Not in the folder itself"));
  put("one.md", skill("name: one\ndescription: A file"));
  put("README.md", "# No skill");
  put("node_modules/x/SKILL.md", skill("description: Of a package"));
  const { skills, diagnostics } = loadSkillsFromDir({ dir: folder, source: "user" });
  expect(skills.map(({ name }) => name)).toEqual(["parse", "deep", "one"]);
  expect(skills[0]).toEqual({
    name: "parse",
    description: "Parses <it>",
    filePath: file,
    baseDir: join(folder, "a"),
    sourceInfo: {
      path: file,
      source: "user",
      scope: "user",
      origin: "top-level",
      baseDir: join(folder, "a"),
    },
    disableModelInvocation: false,
  });
  expect(diagnostics).toEqual([]);
  const prompt = formatSkillsForPrompt(skills, "bash");
  expect(prompt).toContain(`<description>Parses &lt;it&gt;</description>\n    <location>${file}</location>`);
  expect(prompt).toContain("with bash");
  expect(prompt).not.toContain("deep");
  expect(formatSkillsForPrompt(skills.slice(1, 2))).toBe("");
});

test("what is wrong with a skill is said; of one name, the first counts", () => {
  put("agent/skills/x/SKILL.md", skill("name: twice\ndescription: The first"));
  put("project/.bonsai/skills/y/SKILL.md", skill("name: twice\ndescription: The second"));
  const odd = put("odd/SKILL.md", skill(`name: Not So\ndescription: ${"d".repeat(1_025)}`));
  const empty = put("empty/SKILL.md", skill("name: empty"));
  const broken = put("broken/SKILL.md", skill("name: [\n  x"));
  const text = put("plain.txt", "x");
  symlinkSync(odd, join(folder, "again.md"));
  const cwd = join(folder, "project");
  const { skills, diagnostics } = loadSkills({
    cwd,
    agentDir: join(folder, "agent"),
    skillPaths: [odd, "../again.md", empty, broken, text, "nowhere"],
  });
  expect(skills.map(({ name, description }) => [name, description.slice(0, 9)])).toEqual([
    ["twice", "The first"],
    ["Not So", "ddddddddd"],
  ]);
  expect(
    diagnostics.map(({ type, path, message }) => [type, path, message.split(" ").slice(0, 4).join(" ")]),
  ).toEqual(
    expect.arrayContaining([
      ["warning", odd, 'The name "Not So"'],
      ["warning", odd, "The description has 1025"],
      ["warning", empty, "It has no description."],
      ["warning", broken, "Cannot read it: its"],
      ["warning", text, "This is not a"],
      ["warning", join(cwd, "nowhere"), "No such file or"],
      ["collision", expect.stringContaining("project"), 'Another skill "twice" overrides'],
    ]),
  );
  expect(loadSkills({ cwd, agentDir: join(folder, "agent"), includeDefaults: false }).skills).toEqual([]);
});

test("keeps the lines of a description, and warns of a bad name beside a missing description", () => {
  const file = put("My Skill/SKILL.md", skill("name: My Skill"));
  put("lines/SKILL.md", skill("name: lines\ndescription: |\n  One.\n  Two."));
  const { skills, diagnostics } = loadSkillsFromDir({ dir: folder, source: "user" });
  expect(skills.map(({ description }) => description)).toEqual(["One.\nTwo.\n"]);
  expect(diagnostics.map(({ path, message }) => [path, message])).toEqual([
    [file, expect.stringContaining('The name "My Skill"')],
    [file, "It has no description."],
  ]);
});

test("a skill in a message", () => {
  const block = '<skill name="a" location="/a/SKILL.md">\nDo it.\n</skill>';
  expect(parseSkillBlock(`${block}\n\nNow.`)).toEqual({
    name: "a",
    location: "/a/SKILL.md",
    content: "Do it.",
    userMessage: "Now.",
  });
  expect(parseSkillBlock(block)).toMatchObject({ userMessage: undefined });
  expect(parseSkillBlock("Now.")).toBeNull();
});

test("links that lead in a circle, or nowhere, and what is met twice end no reading", () => {
  put("a/deep/SKILL.md", skill("description: Found once"));
  for (const name of ["one", "two", "three"]) symlinkSync(folder, join(folder, "a", name));
  symlinkSync("self", join(folder, "self"));
  symlinkSync("nowhere", join(folder, "gone.md"));
  const { skills, diagnostics } = loadSkillsFromDir({ dir: folder, source: "user" });
  expect(skills.map(({ name }) => name)).toEqual(["deep"]);
  expect(diagnostics).toEqual([]);
  expect(loadSkills({ cwd: folder, agentDir: folder, skillPaths: ["self"], includeDefaults: false })).toEqual(
    {
      skills: [],
      diagnostics: [expect.objectContaining({ message: "No such file or folder." })],
    },
  );
});
