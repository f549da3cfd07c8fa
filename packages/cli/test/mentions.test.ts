import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSessions, openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { mentionsIn } from "../src/call/file-mentions.ts";
import { type AgentProject, agentProject, says } from "./agent-project.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==",
  "base64",
);

function project(): AgentProject {
  const made = agentProject(says("ok"), {
    "notes.md": "\ufeffBuy milk.\n",
    "my notes.txt": "Spaces.\n",
    "shot.png": png,
    "cut.png": png.subarray(0, 50),
    "data.bin": Buffer.from([1, 0, 2]),
    "latin.txt": Buffer.from([0xe9, 0x74, 0xe9]),
    "huge.log": "x".repeat(1_000_001),
    "it's.md": "Its.\n",
  });
  mkdirSync(join(made.cwd, "src"));
  mkdirSync(join(made.cwd, "app", "[id]"), { recursive: true });
  writeFileSync(join(made.cwd, "app", "[id]", "page.tsx"), "A page.\n");
  symlinkSync("round", join(made.cwd, "round"));
  return made;
}

async function sent(words: readonly string[]): Promise<unknown> {
  const { run, cwd, home } = project();
  const { code, stderr } = await run(["-p", ...words]);
  if (code !== 0) return stderr;
  const { items } = openSession(listSessions({ cwd, home }).sessions[0]!.file).projection();
  const [{ message }] = items as [(typeof items)[number]];
  return message.role === "user" ? message.content : undefined;
}

const milk = '<file path="notes.md">\nBuy milk.\n</file>';

describe("@path in a prompt", () => {
  test("the files of a prompt's mentions are added to it, and other @ words stay words", () =>
    everyRow([
      ["what is in @notes.md?", `what is in @notes.md?\n\n${milk}`],
      ["(@notes.md), and @notes.md again.", `(@notes.md), and @notes.md again.\n\n${milk}`],
      ['read @"my notes.txt"', 'read @"my notes.txt"\n\n<file path="my notes.txt">\nSpaces.\n</file>'],
      ["@my notes.txt", '@my notes.txt\n\n<file path="my notes.txt">\nSpaces.\n</file>'],
      ["write to me@notes.md", "write to me@notes.md"],
      ["add @types/node and @scope/pkg@1.2.0", "add @types/node and @scope/pkg@1.2.0"],
      ["what does @app.route do, @alice?", "what does @app.route do, @alice?"],
      ["look in @src", "look in @src"],
      ["see @docs:file:///a/b.md and @docs:test://y.txt", "see @docs:file:///a/b.md and @docs:test://y.txt"],
      ['see @"docs:test://with blanks"', 'see @"docs:test://with blanks"'],
      ["an @ alone", "an @ alone"],
      [
        "compare (@app/[id]/page.tsx) with @it's.md.",
        `compare (@app/[id]/page.tsx) with @it's.md.\n\n<file path="app/[id]/page.tsx">\nA page.\n</file>\n\n<file path="it's.md">\nIts.\n</file>`,
      ],
      ["@notes.md's first line", `@notes.md's first line\n\n${milk}`],
      ["see @Component({selector: 'x.ts'})", "see @Component({selector: 'x.ts'})"],
      [`mail @${"x".repeat(5_000)}`, `mail @${"x".repeat(5_000)}`],
      ["what is in @round", "what is in @round"],
    ])(async ([words, content]) => {
      expect(await sent([words])).toBe(content);
    }));

  test("a file can be a word of its own", async () => {
    expect(await sent(["@notes.md", "summarise"])).toBe(`@notes.md summarise\n\n${milk}`);
  });

  test("an image is shown to the model", async () => {
    expect(await sent(["what is on @shot.png"])).toEqual([
      { type: "text", text: "what is on @shot.png" },
      { type: "image", mimeType: "image/png", data: png.toString("base64") },
    ]);
  });

  test("a mentioned file that cannot be read fails the call, and nothing is sent", () =>
    everyRow([
      ["@missing.md", "file_not_found"],
      ["@./gone", "file_not_found"],
      ["@src/gone", "file_not_found"],
      ['@"no such"', "file_not_found"],
      ["@app/[id]/gone.tsx", "file_not_found"],
      ["@[slug].tsx", "file_not_found"],
      ["@data.bin", "file_not_text"],
      ["@latin.txt", "file_not_text"],
      ["@huge.log", "file_too_large"],
      ["@cut.png", "image_unusable"],
    ])(async ([word, code]) => {
      const { run, cwd, home } = project();
      const { code: exit, stderr } = await run(["-p", "see", word]);
      expect(exit).toBe(1);
      expect(stderr.replaceAll(/\s+/g, " ")).toContain(code);
      expect(listSessions({ cwd, home }).sessions).toEqual([]);
    }));
});

test("punctuation after a path belongs to the sentence unless such a file exists", () => {
  const there = (path: string) => path === "a.md" || path === "odd.";
  expect(mentionsIn("@a.md, @odd. @b.md!", there).map(({ path }) => path)).toEqual(["a.md", "odd.", "b.md"]);
});

test("a mention is found alone, in a sentence, in brackets and in quotes", () =>
  everyRow([
    "app/[id]/page.tsx",
    "[id].tsx",
    "[[...slug]].tsx",
    "[...rest]/x.ts",
    "app/(group)/page.tsx",
    "(group)",
    "{x}",
    "src/{a,b}.ts",
    "it's.md",
    'say"hi".md',
    '"whole".md',
    "back`tick.md",
    "a<b>.md",
    "a, b; c!.md",
    "what?.md",
    "a&b #1 100%.md",
    "*star*.md",
    "$HOME.md",
    "back\\slash.md",
    "Copy of notes (2) [final].md",
    "文档（新）.md",
    "naïve – ‘quoted’.md",
    "e\u0301te\u0301.md",
    "Shot at 3.00\u202fPM.png",
    "a]b[c.md",
    "--flag.md",
  ])((name) => {
    const exists = (path: string) => path === name;
    const written = [
      `@${name}`,
      `look at @${name}, please`,
      `(see @${name})`,
      `[@${name}]: read it`,
      `is it in @${name}?`,
      `@"${name}" is quoted`,
      `first\n@${name}\nlast`,
      `\`@${name}\`'s text`,
    ];
    for (const text of written) expect(mentionsIn(text, exists).map(({ path }) => path)).toEqual([name]);
  }));

test("existing files decide how long a mention is", () =>
  everyRow([
    ["@a b.md and more", ["a", "a b.md"], ["a b.md"]],
    ["@a.md b.md", ["a.md"], ["a.md"]],
    ["@a.md,@b.md (@c.md)", ["a.md", "c.md"], ["a.md", "c.md"]],
    ["@a.md:12 @b.md#L3", ["a.md", "b.md"], ["a.md", "b.md"]],
    ["@README.md를 읽어", ["README.md"], ["README.md"]],
    ["@a.md.bak @a.mdx", ["a.md"], ["a.md.bak", "a.mdx"]],
    ["@app/[id]/gone.ts", ["app/", "app/[id]", "app/[id]/"], ["app/[id]/gone.ts"]],
    ["@app/(x)/gone.ts", ["app", "app/"], ["app/(x)/gone.ts"]],
    ["[@link](http://a.b/c.md)", [], ["link"]],
    ["@Input(\"a.ts\") @app.route('/x.js')", [], ["Input", "app.route"]],
  ])(([text, files, mentioned]) => {
    expect(mentionsIn(text, (path) => files.includes(path)).map(({ path }) => path)).toEqual(mentioned);
  }));
