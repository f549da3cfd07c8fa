import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { loggedRuns } from "../../src/hook/hook-files.ts";
import { withHook, withoutHook } from "../../src/hook/hook-settings.ts";
import { testFolder } from "../call/sample-session.ts";
import { jsonOf, runCli } from "../run-cli.ts";

function place() {
  const folder = testFolder();
  const cwd = join(folder, "project");
  const home = join(folder, ".bonsai");
  mkdirSync(cwd);
  return {
    options: { cwd, env: { HOME: folder, BONSAI_HOME: home } },
    cwd,
    home,
    launcher: join(home, "launcher.mjs"),
    claude: join(folder, ".claude/settings.json"),
    codex: join(folder, ".codex/hooks.json"),
  };
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const read = (file: string) => readFileSync(file, "utf8");

test("install writes the entries of Claude Code without a shell", async () => {
  const { options, claude, launcher } = place();
  const report = await jsonOf(["hook", "install", "claude-code", "--yes"], options);
  expect(report).toEqual({ agent: "claude-code", file: claude, outcome: "written" });
  const own = {
    type: "command",
    command: process.execPath,
    args: [launcher, "hook", "run", "claude-code"],
    timeout: 10,
  };
  expect(JSON.parse(read(claude))).toEqual({
    hooks: {
      PreCompact: [{ hooks: [own] }],
      PostCompact: [{ hooks: [own] }],
      SessionStart: [{ matcher: "compact", hooks: [own] }],
      UserPromptSubmit: [{ hooks: [own] }],
    },
  });
  expect(existsSync(launcher)).toBe(true);
  expect(await jsonOf(["hook", "install", "claude-code", "--yes"], options)).toMatchObject({
    outcome: "unchanged",
  });
});

test("install writes one entry of Codex, and says that the user must approve it", async () => {
  const { options, codex, launcher } = place();
  const { stdout } = await runCli(["hook", "install", "codex", "--yes"], options);
  const command = `'${process.execPath}' '${launcher}' hook run codex`;
  expect(JSON.parse(read(codex))).toEqual({
    hooks: { SessionStart: [{ matcher: "compact", hooks: [{ type: "command", command, timeout: 10 }] }] },
  });
  expect(stdout).toContain("only after you approve it");
});

/** Settings in other forms. Each has text that a rewrite of the JSON would change. */
const SETTINGS: Readonly<Record<string, string>> = {
  "an empty object": "{}",
  "two spaces, lists on one line":
    '{\n  "model": "opus",\n  "permissions": { "allow": ["Bash(ls:*)", "Read"] }\n}\n',
  "tabs, without a last newline": '{\n\t"hooks": {\n\t\t"Stop": []\n\t},\n\t"z": 1, "a": 2\n}',
  "Windows lines": '{\r\n    "env": {"A": "1"}\r\n}\r\n',
  "other hooks of the same events": `{
  "hooks": {
    "SessionStart": [{ "matcher": "compact", "hooks": [{ "type": "command", "command": "echo hi" }] }],
    "UserPromptSubmit": [ { "hooks": [ ] } ]
  }
}
`,
};

test("remove restores the former file byte for byte", () =>
  everyRow(Object.entries(SETTINGS))(async ([, text]) => {
    for (const agent of ["claude-code", "codex"] as const) {
      const { options, ...files } = place();
      const file = agent === "codex" ? files.codex : files.claude;
      write(file, text);
      await jsonOf(["hook", "install", agent, "--yes"], options);
      expect(read(`${file}.bonsai-backup`)).toBe(text);
      expect(read(file).match(/launcher\.mjs/g)).toHaveLength(agent === "codex" ? 1 : 4);
      await jsonOf(["hook", "remove", agent, "--yes"], options);
      expect(read(file)).toBe(text);
    }
  }));

test("the settings without the hook are the former ones, character by character", () =>
  everyRow(Object.entries(SETTINGS))(([, text]) => {
    for (const agent of ["claude-code", "codex"] as const) {
      const changed = withHook(agent, text, "settings.json", "/home/dev/.bonsai");
      expect(changed).not.toBe(text);
      expect(withHook(agent, changed, "settings.json", "/home/dev/.bonsai")).toBe(changed);
      expect(withoutHook(changed, "settings.json")).toBe(text);
    }
  }));

test("remove after a later change removes only the own entries", async () => {
  const { options, claude } = place();
  write(claude, SETTINGS["other hooks of the same events"]!);
  await jsonOf(["hook", "install", "claude-code", "--yes"], options);
  write(claude, read(claude).replace("{\n", '{\n  "model": "opus",\n'));
  await jsonOf(["hook", "remove", "claude-code", "--yes"], options);
  const { hooks, model } = JSON.parse(read(claude));
  expect(model).toBe("opus");
  expect(hooks).toEqual(JSON.parse(SETTINGS["other hooks of the same events"]!).hooks);
});

test("remove keeps a user's handler in the same group", async () => {
  const { options, claude } = place();
  await jsonOf(["hook", "install", "claude-code", "--yes"], options);
  const settings = JSON.parse(read(claude));
  const own = { type: "command", command: "echo" };
  settings.hooks.PreCompact[0].hooks.push(own);
  write(claude, JSON.stringify(settings));
  await jsonOf(["hook", "remove", "claude-code", "--yes"], options);
  expect(JSON.parse(read(claude))).toEqual({ hooks: { PreCompact: [{ hooks: [own] }] } });
});

test("remove deletes a file that install created", async () => {
  const { options, codex } = place();
  await jsonOf(["hook", "install", "codex", "--yes"], options);
  await jsonOf(["hook", "remove", "codex", "--yes"], options);
  expect(existsSync(codex)).toBe(false);
  expect(await jsonOf(["hook", "remove", "codex", "--yes"], options)).toMatchObject({ outcome: "unchanged" });
});

test("install updates an entry of another Node", async () => {
  const { options, claude } = place();
  await jsonOf(["hook", "install", "claude-code", "--yes"], options);
  const text = read(claude);
  write(claude, text.replaceAll(process.execPath, "/gone/node"));
  const { installations } = await jsonOf<{ installations: { state: string }[] }>(["hook", "status"], options);
  expect(installations[0]?.state).toBe("outdated");
  await jsonOf(["hook", "install", "claude-code", "--yes"], options);
  expect(read(claude)).toBe(text);
});

test("--project changes the project's unshared file of Claude Code, and that of Codex", async () => {
  const { options, cwd } = place();
  for (const [agent, name] of [
    ["claude-code", ".claude/settings.local.json"],
    ["codex", ".codex/hooks.json"],
  ] as const) {
    const report = await jsonOf(["hook", "install", agent, "--project", "--yes"], options);
    expect(report).toMatchObject({ file: join(cwd, name), outcome: "written" });
  }
});

test("CLAUDE_CONFIG_DIR and CODEX_HOME name the folders", async () => {
  const { options, cwd } = place();
  const env = { ...options.env, CLAUDE_CONFIG_DIR: join(cwd, "c"), CODEX_HOME: join(cwd, "x") };
  for (const agent of ["claude-code", "codex"])
    await jsonOf(["hook", "install", agent, "--yes"], { ...options, env });
  expect([existsSync(join(cwd, "c/settings.json")), existsSync(join(cwd, "x/hooks.json"))]).toEqual([
    true,
    true,
  ]);
});

test("damaged settings, an unknown agent and a missing terminal change nothing", async () => {
  const { options, claude } = place();
  write(claude, '{ "hooks": ');
  const damaged = await runCli(["hook", "install", "claude-code", "--yes"], options);
  expect([damaged.code, read(claude)]).toEqual([1, '{ "hooks": ']);
  expect(damaged.stderr).toContain("is not valid JSON");
  expect(await runCli(["hook", "install", "gemini", "--yes"], options)).toMatchObject({ code: 2 });
  const { code, stderr } = await runCli(["hook", "install", "codex"], options);
  expect(code).toBe(2);
  expect(stderr).toContain("+ ");
  expect(stderr).toContain("Add --yes");
});

test("status names the launcher's problem and the latest runs", async () => {
  const { options, home } = place();
  await jsonOf(["hook", "install", "codex", "--yes"], options);
  const at = "2026-02-10T09:00:00.000Z";
  const counts = { irreversible: 2, failing: 0, said: 1, terms: 30 };
  const run = { at, agent: "codex", event: "SessionStart", added: { tokens: 400, counts } };
  write(
    join(home, "logs/hook.log"),
    `${JSON.stringify(run)}\ntorn\n${JSON.stringify({ at, agent: "codex", error: "Error: no" })}\n`,
  );
  const { stdout } = await runCli(["hook", "status"], options);
  expect(stdout).toMatch(/codex +user +installed/);
  expect(stdout).toContain("~400 tokens with 2 irreversible commands, 1 user message, 30 terms");
  expect(stdout).toContain("Error: no");
  write(join(home, "launcher.mjs"), 'const hook = "file:///gone/hook.cjs";\n');
  expect((await runCli(["hook", "status"], options)).stdout).toContain(
    "starts a Bonsai that no longer exists",
  );
});

test("a launcher whose Bonsai is gone exits with 0 and without output, and logs the error", async () => {
  const { options, home, launcher } = place();
  await jsonOf(["hook", "install", "codex", "--yes"], options);
  write(launcher, read(launcher).replace(/^const hook = .*$/m, 'const hook = "file:///gone/hook.cjs";'));
  const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, "hook", "run", "codex"], {
    input: "{}",
    encoding: "utf8",
  });
  expect([status, stdout, stderr]).toEqual([0, "", ""]);
  expect(loggedRuns(home)).toMatchObject([
    { agent: "codex", error: expect.stringContaining("/gone/hook.cjs") },
  ]);
});
