import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { CliIo } from "../../src/call/io.ts";
import {
  isNothing,
  notifyUntrusted,
  projectParts,
  projectUse,
  projectUseLines,
} from "../../src/call/project.ts";
import { writeFiles } from "./project-files.ts";
import { testFolder } from "./sample-session.ts";

function projectWith(files: Readonly<Record<string, string>>) {
  const folder = testFolder();
  for (const name of ["user/.bonsai", "project"]) mkdirSync(join(folder, name), { recursive: true });
  const userHome = join(folder, "user");
  const cwd = join(folder, "project");
  writeFiles(cwd, files);
  return { cwd, userHome, home: join(userHome, ".bonsai") };
}

/** The messages of the notice about an untrusted project. */
function notices({ cwd, userHome, home }: ReturnType<typeof projectWith>): string[] {
  const messages: string[] = [];
  const output = { notify: ({ message }: { message: string }) => messages.push(message) };
  const io = { cwd, env: { HOME: userHome, BONSAI_HOME: home } } as unknown as CliIo;
  notifyUntrusted({ io, options: {}, output });
  return messages;
}

const partsOf = (place: ReturnType<typeof projectWith>) =>
  projectParts(place).map(({ kind, path }) => `${kind} ${path.slice(place.cwd.length + 1)}`);

test("each part that runs code or changes prompts needs trust", () =>
  everyRow([
    [".bonsai/settings.json", "settings"],
    [".bonsai/extensions/x.ts", "extensions"],
    [".bonsai/skills/x/SKILL.md", "skills"],
    [".bonsai/prompts/x.md", "prompts"],
    [".bonsai/themes/x.json", "themes"],
    [".mcp.json", "servers"],
    [".claude/skills/x/SKILL.md", "skills"],
    [".claude/commands/x.md", "prompts"],
    [".pi/skills/x/SKILL.md", "skills"],
    [".pi/prompts/x.md", "prompts"],
    [".pi/themes/x.json", "themes"],
    [".agents/skills/x/SKILL.md", "skills"],
  ])(async ([file, kind]) => {
    const place = projectWith({ [file]: "{}" });
    expect(projectParts(place)).toMatchObject([{ kind }]);
    expect(isNothing(await projectUse(place))).toBe(false);
    expect(notices(place)).toHaveLength(1);
  }));

test("a folder without any of it, and empty folders, bring nothing", async () => {
  const place = projectWith({
    "AGENTS.md": "Be kind.",
    ".claude/settings.json": "{}",
    ".pi/settings.json": "{}",
  });
  for (const name of [".claude/commands", ".bonsai/extensions", ".agents/skills"])
    mkdirSync(join(place.cwd, name), { recursive: true });
  expect(projectParts(place)).toEqual([]);
  expect(isNothing(await projectUse(place))).toBe(true);
  expect(notices(place)).toEqual([]);
});

test("the user's home folder is no project, and what leads to the user's own is none of the project's", () => {
  const place = projectWith({});
  writeFiles(place.userHome, {
    ".mcp.json": "{}",
    ".claude/commands/x.md": "x",
    ".pi/prompts/x.md": "x",
    ".bonsai/settings.json": "{}",
  });
  expect(partsOf({ ...place, cwd: place.userHome })).toEqual([]);
  mkdirSync(join(place.cwd, ".claude"));
  symlinkSync(join(place.userHome, ".claude/commands"), join(place.cwd, ".claude/commands"));
  expect(partsOf(place)).toEqual([]);
});

test("one notice names all of it", () => {
  const place = projectWith({
    ".mcp.json": "{}",
    ".claude/commands/x.md": "x",
    ".agents/skills/x/SKILL.md": "x",
  });
  expect(notices(place)).toEqual([
    "Ignored .mcp.json, .agents/skills and .claude/commands: this project is not trusted. Run `bonsai trust` to list and trust them.",
  ]);
});

test("the programs of MCP servers are listed, and an invalid file is named", async () => {
  const mcpServers = {
    fs: { command: "npx", args: ["-y", "server", "\u001b[2J"] },
    web: { url: "https://mcp.example/mcp" },
    odd: 7,
  };
  const place = projectWith({ ".mcp.json": JSON.stringify({ mcpServers }) });
  expect(projectUseLines(await projectUse(place), place.cwd)).toEqual([
    ".mcp.json",
    expect.stringMatching(/^server fs: npx -y server \S*\[2J$/),
    "server web: https://mcp.example/mcp",
    "server odd: ?",
  ]);
  expect(projectUseLines(await projectUse(place), place.cwd).join("")).not.toContain("\u001b");
  const broken = projectWith({ ".mcp.json": "{" });
  expect((await projectUse(broken)).missing).toMatchObject([{ path: join(broken.cwd, ".mcp.json") }]);
});
