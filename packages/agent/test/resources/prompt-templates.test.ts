// biome-ignore-all lint/suspicious/noTemplateCurlyInString: templates have such places for arguments
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { expandResourceCall, readPromptTemplates } from "../../src/resources/prompt-templates.ts";

function folderWith(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-templates-"));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

async function read(folder: string, ...paths: readonly string[]) {
  const places = (paths.length === 0 ? [""] : paths).map((path) => ({ path: join(folder, path) }));
  const { templates, problems } = await readPromptTemplates(places);
  return {
    templates,
    names: [...templates.keys()],
    problems: problems.map(({ path, message }) => `${relative(folder, path)}: ${message}`),
  };
}

const expanded = (body: string, args = "") => expandResourceCall({ body }, `/template ${args}`);

test("a file is a template by its name, and folders stand before it", async () => {
  const folder = folderWith({
    "review.md": '---\ndescription: Look at it\nargument-hint: "[focus]"\nmodel: opus\n---\n\nReview $1.\n',
    "frontend/component.md": "# A component\n\nMake $ARGUMENTS",
    "frontend/deep/er.md": "Go deep",
    "notes.txt": "no template",
    ".hidden.md": "hidden",
    "node_modules/x.md": "of others",
  });
  const { templates, names, problems } = await read(folder);
  expect(names).toEqual(["review", "frontend:component", "frontend:deep:er"]);
  expect(templates.get("review")).toMatchObject({
    description: "Look at it",
    argumentHint: "[focus]",
    model: "opus",
    body: "Review $1.",
    path: join(folder, "review.md"),
  });
  expect(templates.get("frontend:component")).toMatchObject({ description: "A component" });
  expect(problems).toEqual([]);
});

test("fields as Claude Code has them", async () => {
  const folder = folderWith({
    "list.md":
      "---\nargument-hint: [issue-number]\nallowed-tools: Bash(git add:*), Bash(git status:*)\nmodel: inherit\n---\nFix",
    "several.md":
      "---\nargument-hint: add [tagId] | remove [tagId]\ndisable-model-invocation: true\n---\nTag",
  });
  const { templates, problems } = await read(folder);
  expect(templates.get("list")?.argumentHint).toBe("[issue-number]");
  expect(templates.get("list")?.model).toBeUndefined();
  expect(templates.get("several")?.argumentHint).toBe("add [tagId] | remove [tagId]");
  expect(problems).toEqual([]);
});

test("the later place of a name counts; a place can be a file or missing", async () => {
  const folder = folderWith({ "a/x.md": "first", "a/y.md": "why", "b/x.md": "second", "one.md": "one" });
  const { templates, names } = await read(folder, "a", "none", "b", "one.md");
  expect(names).toEqual(["x", "y", "one"]);
  expect(templates.get("x")?.body).toBe("second");
});

test("names files that cannot be templates, and reads the others", async () => {
  const folder = folderWith({
    "good.md": "Good",
    "huge.md": "x".repeat(256 * 1024 + 1),
    "binary.md": Buffer.from([0x47, 0, 0x48]),
    "latin.md": Buffer.from([0xe9, 0x20, 0xff]),
    "empty.md": "---\ndescription: nothing\n---\n  \n",
    "my file.md": "blank in the name",
    "broken.md": "---\ndescription: [open\n---\nStill a prompt",
    "theme.json": "{}",
  });
  symlinkSync("nowhere.md", join(folder, "gone.md"));
  symlinkSync("loop.md", join(folder, "loop.md"));
  symlinkSync(".", join(folder, "again"));
  const { templates, names, problems } = await read(folder, "", "theme.json");
  expect(names).toEqual(["broken", "good"]);
  expect(templates.get("broken")?.body).toBe("Still a prompt");
  expect(problems.sort()).toEqual([
    "binary.md: It is not UTF-8 text.",
    expect.stringMatching(/^broken.md: Its front matter is ignored: its front matter is not valid YAML/),
    "empty.md: It contains no prompt.",
    "gone.md: It links to a missing file.",
    "huge.md: It has 262,145 bytes; the maximum is 262,144.",
    "latin.md: It is not UTF-8 text.",
    "loop.md: It is a link to itself.",
    "my file.md: Its name does not work as a command. Rename it: use letters, digits, dots, - and _.",
    "theme.json: It is not a Markdown file: the name of a prompt template must end with .md.",
  ]);
});

test("arguments that no place takes stand behind the text", () => {
  expect(expanded("Review it.", "src now").text).toBe("Review it.\n\nArguments: src now");
  expect(expanded("Review it.").text).toBe("Review it.");
  expect(expanded("Review ${1:-all}.", "src").text).toBe("Review src.");
});

test("commands of a template are not run, and the model is told so", () => {
  const body = "Status: !`git status`\n\n```!\nnpm ls\nnpm test\n```\n\nIn `code!` and wow!`no`";
  const { text, commands } = expanded(body);
  expect(commands).toEqual(["git status", "npm ls\nnpm test"]);
  expect(text).toContain("Status: !`git status`");
  expect(text).toMatch(/The commands marked with ! above were not run/);
  expect(expanded("Plain", "!`rm -rf x`").commands).toEqual([]);
});

const typedCalls = [
  ["/review", ""],
  ["  /frontend:component  a b ", "a b"],
  ["/v1.2 x\ny", "x\ny"],
  ["/überblick", ""],
] as const;
test("reads the arguments of a typed call", () => {
  for (const [typed, args] of typedCalls)
    expect.soft(expandResourceCall({ body: "<$ARGUMENTS>" }, typed).text, typed).toBe(`<${args}>`);
});

test("a pipe that somebody names is no template, and nobody waits for it", async () => {
  const folder = folderWith({});
  execFileSync("mkfifo", [join(folder, "pipe.md")]);
  expect(await read(folder, "pipe.md")).toMatchObject({
    names: [],
    problems: ["pipe.md: Cannot read it: it is not a regular file."],
  });
});
