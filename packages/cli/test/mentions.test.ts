import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { mentionsIn } from "@bonsai-agent/app/file-mentions";
import { listSessions, openSession } from "@bonsai-agent/session";
import { describe, expect, test } from "vitest";
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
    "data.bin": Buffer.from([1, 0, 2]),
    "latin.txt": Buffer.from([0xe9, 0x74, 0xe9]),
    "huge.log": "x".repeat(1_000_001),
  });
  mkdirSync(join(made.cwd, "src"));
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
  test.each([
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
    [`mail @${"x".repeat(5_000)}`, `mail @${"x".repeat(5_000)}`],
    ["what is in @round", "what is in @round"],
  ])("%s", async (words, content) => {
    expect(await sent([words])).toBe(content);
  });

  test("a file can be a word of its own", async () => {
    expect(await sent(["@notes.md", "summarise"])).toBe(`@notes.md summarise\n\n${milk}`);
  });

  test("an image is shown to the model", async () => {
    expect(await sent(["what is on @shot.png"])).toEqual([
      { type: "text", text: "what is on @shot.png" },
      { type: "image", mimeType: "image/png", data: png.toString("base64") },
    ]);
  });

  test.each([
    ["@missing.md", "file_not_found"],
    ["@./gone", "file_not_found"],
    ["@src/gone", "file_not_found"],
    ['@"no such"', "file_not_found"],
    ["@data.bin", "file_not_text"],
    ["@latin.txt", "file_not_text"],
    ["@huge.log", "file_too_large"],
  ])("%s is %s, and nothing is sent", async (word, code) => {
    const { run, cwd, home } = project();
    const { code: exit, stderr } = await run(["-p", "see", word]);
    expect(exit).toBe(1);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain(code);
    expect(listSessions({ cwd, home }).sessions).toEqual([]);
  });
});

test("punctuation behind a path belongs to the sentence, unless such a file is there", () => {
  const there = (path: string) => path === "a.md" || path === "odd.";
  expect(mentionsIn("@a.md, @odd. @b.md!", there).map(({ path }) => path)).toEqual(["a.md", "odd.", "b.md"]);
});
