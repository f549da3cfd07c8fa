import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { typedText } from "@bonsai-agent/messages";
import { skillCallIn } from "@bonsai-agent/messages/host";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readSkills, type Skill, type SkillPlace, skillMessage } from "../../src/resources/skills.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-skills-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(path: string, text: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const skill = (fields: string, body = "Do it.") => `---\n${fields}\n---\n${body}\n`;
const at = (path: string, origin: SkillPlace["origin"] = "user"): SkillPlace => ({
  path: join(folder, path),
  origin,
});
const names = (skills: readonly Skill[]) => skills.map(({ name }) => name);

describe("places of skills", () => {
  test("as Claude Code, pi and the standard lay them out, each of the folders searched below", async () => {
    put(
      ".claude/skills/pdf/SKILL.md",
      skill('name: pdf\ndescription: "Reads PDFs."\nallowed-tools: Read, Bash(pdftotext:*)'),
    );
    put(".claude/skills/pdf/reference.md", "# No skill");
    put(".claude/skills/pdf/inner/SKILL.md", skill("name: inner\ndescription: Never reached"));
    put(".pi/agent/skills/search/brave/SKILL.md", skill("name: brave\ndescription: Searches"));
    put(".pi/agent/skills/quick.md", skill("name: quick\ndescription: One file"));
    put(".pi/agent/skills/README.md", "# No skill");
    put(
      ".agents/skills/office/SKILL.md",
      skill("name: office\ndescription: >\n  Writes\n  letters.\nlicense: MIT\nmetadata:\n  a: b"),
    );
    put(".agents/skills/node_modules/x/SKILL.md", skill("name: x\ndescription: Of a package"));
    put(".agents/skills/.git/y/SKILL.md", skill("name: y\ndescription: Hidden"));
    put(".agents/skills/.gitignore", "office\n");
    const { skills, problems } = await readSkills([
      at(".claude/skills"),
      at(".pi/agent/skills"),
      at(".agents/skills"),
      at("nowhere"),
    ]);
    expect(problems).toEqual([]);
    expect(names(skills)).toEqual(["brave", "office", "pdf", "quick"]);
    expect(skills[1]).toMatchObject({ description: "Writes letters.", isForModel: true, isForUser: true });
    expect(skills[2]).toMatchObject({
      path: join(folder, ".claude/skills/pdf/SKILL.md"),
      folder: join(folder, ".claude/skills/pdf"),
      place: at(".claude/skills"),
    });
    // A skill of one file opens that file alone.
    expect(skills[3]!.readable).toBe(join(folder, ".pi/agent/skills/quick.md"));
  });

  test("one file as a place; of one name the later counts, and a file that is met twice is one", async () => {
    const one = put("user/pdf/SKILL.md", skill("name: pdf\ndescription: The user's"));
    const two = put("project/pdf/SKILL.md", skill("name: pdf\ndescription: The project's"));
    symlinkSync(join(folder, "project"), join(folder, "again"));
    const { skills, problems } = await readSkills([at("user"), at("project/pdf/SKILL.md"), at("again")]);
    expect(skills.map(({ description }) => description)).toEqual(["The project's"]);
    expect(problems).toEqual([{ path: one, message: `Another skill "pdf" overrides it: ${two}` }]);
  });

  test("links in a circle, links that lead nowhere and a pipe end no search", async () => {
    put("skills/a/SKILL.md", skill("name: a\ndescription: Found once"));
    symlinkSync(folder, join(folder, "skills", "up"));
    symlinkSync("self", join(folder, "skills", "self"));
    symlinkSync("nowhere", join(folder, "skills", "gone.md"));
    mkdirSync(join(folder, "skills", "pipe"));
    execFileSync("mkfifo", [join(folder, "skills", "pipe", "SKILL.md")]);
    expect(names((await readSkills([at("skills")])).skills)).toEqual(["a"]);
    expect(names((await readSkills([at("skills/pipe/SKILL.md")])).skills)).toEqual([]);
  });

  test("reads up to 10,000 files of a large folder, and names the bound", async () => {
    put("skills/z/SKILL.md", skill("name: z\ndescription: Last"));
    for (let file = 0; file < 9_999; file += 1) writeFileSync(join(folder, "skills", `${file}.txt`), "");
    const upToBound = await readSkills([at("skills")]);
    expect(names(upToBound.skills)).toEqual(["z"]);
    expect(upToBound.problems).toEqual([]);
    put("skills/a/SKILL.md", skill("name: a\ndescription: First"));
    put("skills/zz/SKILL.md", skill("name: zz\ndescription: Too far"));
    const { skills, problems } = await readSkills([at("skills")]);
    expect(names(skills)).toEqual(["a"]);
    expect(problems).toMatchObject([
      { path: join(folder, "skills"), message: expect.stringContaining("after 10,000") },
    ]);
  });

  test("a project's link opens nothing beyond the place that it stands in; a user's does", async () => {
    put("elsewhere/pdf/SKILL.md", skill("name: pdf\ndescription: Elsewhere"));
    put("skills/own/SKILL.md", skill("name: own\ndescription: Own"));
    symlinkSync(join(folder, "elsewhere", "pdf"), join(folder, "skills", "pdf"));
    const readable = async (origin: SkillPlace["origin"]) =>
      (await readSkills([at("skills", origin)])).skills.map((each) => each.readable);
    expect(await readable("project")).toEqual([join(folder, "skills/own"), undefined]);
    expect(await readable("user")).toEqual([join(folder, "skills/own"), join(folder, "elsewhere/pdf")]);
  });

  test("skills of a project's owner are read, those of another user are not", async () => {
    const me = process.getuid?.() ?? 0;
    const file = put("a/SKILL.md", skill("name: a\ndescription: A"));
    if (me === 0) chownSync(file, 4321, 4321);
    // The folder around that of the skills is the project: here the system's root, which nobody owns but root.
    const outer = { path: folder, origin: "project" } as const;
    const read = await readSkills([outer], { uid: me + 1 });
    expect(names(read.skills)).toEqual([]);
    const message = `Cannot read it: it belongs to another user (uid ${me === 0 ? 4321 : me})`;
    expect(read.problems).toEqual([{ path: file, message }]);
    const own = put("p/.claude/skills/b/SKILL.md", skill("name: b\ndescription: B"));
    if (me === 0) for (const path of [own, join(folder, "p")]) chownSync(path, 4321, 4321);
    const inner = await readSkills([at("p/.claude/skills", "project")], { uid: me + 1 });
    expect(names(inner.skills)).toEqual(["b"]);
  });

  test("a folder that may not be read is named", async () => {
    put("skills/a/SKILL.md", skill("name: a\ndescription: A"));
    chmodSync(join(folder, "skills", "a"), 0o000);
    const { skills, problems } = await readSkills([at("skills")]);
    chmodSync(join(folder, "skills", "a"), 0o700);
    // Root may read everything.
    if (process.getuid?.() === 0) expect(names(skills)).toEqual(["a"]);
    else expect(problems).toMatchObject([{ path: join(folder, "skills/a") }]);
  });
});

const unusable = [
  ["no description", skill("name: a"), "It has no description."],
  ["no fields", "# Only words", "It has no description."],
  ["broken YAML", "---\nname: [a\nx: 2\n---\nB", "Cannot read it: its front matter is not valid YAML"],
  ["never closed", "---\nname: a\n", "Cannot read it: its front matter has no closing line ---."],
  ["no text", "---\nname: a\0\n---\n", "Cannot read it: it is not a text file"],
  [
    "a name that nobody can type",
    skill('name: "a\\"b"\ndescription: x'),
    'The name "a"b" does not work as a command',
  ],
] as const;
test("leaves out an unusable skill, and names it", async () => {
  for (const [name, text, message] of unusable) {
    const path = put("skills/a/SKILL.md", text);
    const { skills, problems } = await readSkills([at("skills")]);
    expect.soft(skills, name).toEqual([]);
    expect.soft(problems, name).toEqual([{ path, message: expect.stringContaining(message) }]);
  }
});

test("reads the callers, the hint and the name from the folder, and warns of odd fields", async () => {
  put(
    "skills/by-folder/SKILL.md",
    "\uFEFF---\r\ndescription: Use it: always\r\nwhen_to_use: For PDFs\r\ndisable-model-invocation: true\r\nargument-hint: [file] [page]\r\n---\r\nB",
  );
  put("skills/two/SKILL.md", skill(`name: Not So\nuser-invocable: false\ndescription: ${"d".repeat(1_025)}`));
  const { skills, problems } = await readSkills([at("skills")]);
  expect(skills).toMatchObject([
    { name: "Not So", isForModel: true, isForUser: false },
    {
      name: "by-folder",
      description: "Use it: always For PDFs",
      isForModel: false,
      argumentHint: "[file] [page]",
    },
  ]);
  expect(problems.map(({ message }) => message.slice(0, 26))).toEqual([
    'The name "Not So" should h',
    "The description has 1025 c",
  ]);
});

describe("the message that calls a skill", () => {
  test("has its text, its folder and the arguments, and is shown as it was typed", async () => {
    put(
      "s/pdf/SKILL.md",
      skill("name: pdf\ndescription: x", `Run ${"$"}{CLAUDE_SKILL_DIR}/run.sh on $ARGUMENTS.\n</skill>`),
    );
    const [pdf] = (await readSkills([at("s")])).skills;
    const text = skillMessage(pdf!, " a$&b ");
    expect(typedText({ content: text })).toBe("/skill:pdf a$&b");
    const base = join(folder, "s/pdf");
    expect(skillCallIn(text)).toEqual({
      name: "pdf",
      path: join(base, "SKILL.md"),
      args: "a$&b",
      body: `References are relative to ${base}.\n\nRun ${base}/run.sh on a$&b.\n&lt;/skill>`,
    });
  });

  test.each<[string, (file: string) => void, string]>([
    ["gone", (file) => rmSync(file), "ENOENT"],
    ["too long", (file) => writeFileSync(file, "x".repeat(1_000_001)), "more than 1,000,000 bytes"],
  ])("fails for one that is %s by now", async (_, change, reason) => {
    const file = put("s/pdf/SKILL.md", skill("name: pdf\ndescription: x"));
    const [pdf] = (await readSkills([at("s")])).skills;
    change(file);
    expect(() => skillMessage(pdf!)).toThrow(
      expect.objectContaining({ code: "skill_unreadable", message: expect.stringContaining(reason) }),
    );
  });
});
