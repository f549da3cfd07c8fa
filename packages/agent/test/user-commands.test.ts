import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptedAgent } from "./scripted-agent.ts";
import { shellSaying } from "./shell-saying.ts";

test.each([
  ["blocks", () => ({ block: true, reason: "no rm" }), "no rm"],
  [
    "throws",
    () => {
      throw new Error("broken guard");
    },
    "broken guard",
  ],
])("a command of the user's is not run when a guard %s", async (_what, guard, reason) => {
  let isRun = false;
  const shell = async () => {
    isRun = true;
    return shellSaying("out")();
  };
  const run = scriptedAgent({ turn: [], shell });
  run.lifecycle.on("user_bash", guard);
  await expect(run.agent.runUserCommand("rm -rf /")).rejects.toMatchObject({
    code: "command_blocked",
    message: expect.stringContaining(reason),
  });
  expect(isRun).toBe(false);
  expect(run.session.path()).toEqual([]);
});

test("a command that an extension has run is stored with what it put out, and not run again", async () => {
  const run = scriptedAgent({ turn: [], shell: () => Promise.reject(new Error("ran twice")) });
  const result = {
    output: "remote",
    exitCode: 3,
    cancelled: false,
    truncated: true,
    fullOutputPath: "/tmp/o",
  };
  run.lifecycle.on("user_bash", ({ command, excludeFromContext, cwd }) => {
    expect([command, excludeFromContext, cwd]).toEqual(["ls", true, "/project"]);
    return { result: { ...result, more: "of its own" } };
  });
  expect(await run.agent.runUserCommand("ls", { excludeFromContext: true })).toMatchObject(result);
  const [entry] = run.session.path();
  expect(entry).toMatchObject({
    message: { role: "bashExecution", command: "ls", ...result, excludeFromContext: true },
  });
  expect(JSON.stringify(entry)).not.toContain("of its own");
});

test("a command runs where an extension says, its output shown as it comes and made plain", async () => {
  const run = scriptedAgent({ turn: [], shell: () => Promise.reject(new Error("ran here")) });
  const operations = {
    code: 3,
    async exec(command: string, cwd: string, { onData }: { onData: (data: Buffer) => void }) {
      onData(Buffer.from(`\u001b[31m${command}\u001b[0m in ${cwd}\n`));
      onData(Buffer.from("the rest"));
      return { exitCode: this.code };
    },
  };
  run.lifecycle.on("user_bash", () => ({ operations }));
  const shown: string[] = [];
  const message = await run.agent.runUserCommand("ls", { onOutput: (text) => shown.push(text) });
  expect(message).toMatchObject({
    output: "ls in /project\nthe rest",
    exitCode: 3,
    cancelled: false,
    truncated: false,
  });
  expect(shown).toEqual(["ls in /project\n", "the rest"]);
});

test("an output from elsewhere that is long is kept in a file", async () => {
  const run = scriptedAgent({ turn: [] });
  const exec = async (_command: string, _cwd: string, { onData }: { onData: (data: Buffer) => void }) => {
    for (let line = 1; line <= 3_000; line += 1) onData(Buffer.from(`line ${line}\n`));
    return { exitCode: null };
  };
  run.lifecycle.on("user_bash", () => ({ operations: { exec } }));
  const { output, truncated, fullOutputPath, exitCode } = await run.agent.runUserCommand("seq 3000");
  expect([truncated, exitCode, output.includes("line 3000"), output.includes("line 1\n")]).toEqual([
    true,
    undefined,
    true,
    false,
  ]);
  expect(readFileSync(fullOutputPath!, "utf8")).toMatch(/^line 1\n[\s\S]*line 3000\n$/);
  rmSync(fullOutputPath!);
});

test("a command that is stopped elsewhere keeps what it put out, also where nobody heeds the stop", async () => {
  const run = scriptedAgent({ turn: [] });
  const stop = new AbortController();
  const exec = (_command: string, _cwd: string, { onData }: { onData: (data: Buffer) => void }) => {
    onData(Buffer.from("begun"));
    stop.abort();
    return new Promise<never>(() => {});
  };
  run.lifecycle.on("user_bash", () => ({ operations: { exec } }));
  expect(await run.agent.runUserCommand("sleep 9", { signal: stop.signal })).toMatchObject({
    output: "begun",
    cancelled: true,
  });
});

test.each([
  ["aborted", true],
  ["timeout:5", false],
])("a command that ends elsewhere with the error %j keeps its output", async (error, cancelled) => {
  const run = scriptedAgent({ turn: [] });
  const exec = async (_command: string, _cwd: string, { onData }: { onData: (data: Buffer) => void }) => {
    onData(Buffer.from("begun"));
    throw new Error(error);
  };
  run.lifecycle.on("user_bash", () => ({ operations: { exec } }));
  const message = await run.agent.runUserCommand("sleep 9");
  expect(message).toMatchObject({ output: "begun", cancelled });
  expect(message.exitCode).toBeUndefined();
});

test("a command that an abort stops elsewhere is cancelled, whatever error it ends with", async () => {
  const run = scriptedAgent({ turn: [] });
  const stop = new AbortController();
  const exec = (_command: string, _cwd: string, { signal }: { signal?: AbortSignal | undefined }) =>
    new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(new Error("connection closed")));
      stop.abort(new Error("enough"));
    });
  run.lifecycle.on("user_bash", () => ({ operations: { exec } }));
  expect(await run.agent.runUserCommand("sleep 9", { signal: stop.signal })).toMatchObject({
    cancelled: true,
  });
});

test("a command that cannot run elsewhere is an error, and nothing runs here in its place", async () => {
  const run = scriptedAgent({ turn: [], shell: shellSaying("out") });
  const exec = () => Promise.reject(new Error("no such host"));
  run.lifecycle.on("user_bash", () => ({ operations: { exec } }));
  await expect(run.agent.runUserCommand("ls")).rejects.toMatchObject({
    code: "command_failed",
    message: expect.stringContaining("no such host"),
  });
  expect(run.session.path()).toEqual([]);
});

test("a command that one extension blocks and another has run is blocked; of two that ran it, the later stands", async () => {
  const output = (text: string) => ({ output: text, cancelled: false, truncated: false });
  const run = scriptedAgent({ turn: [] });
  for (const source of ["one", "two"])
    run.lifecycle.on("user_bash", () => ({ result: output(source) }), { source });
  expect(await run.agent.runUserCommand("ls")).toMatchObject({ output: "two" });
  expect(run.notices.map(({ code }) => code)).toEqual(["conflict"]);
  run.lifecycle.on("user_bash", () => ({ block: true, reason: "not here" }));
  await expect(run.agent.runUserCommand("ls")).rejects.toMatchObject({ code: "command_blocked" });
});

const unusable = [
  { result: "done" },
  { result: { output: "x" } },
  { result: { output: 7, cancelled: false, truncated: false } },
  { operations: {} },
];
test("an unusable answer of an extension blocks the command", async () => {
  for (const answer of unusable) {
    const run = scriptedAgent({ turn: [], shell: shellSaying("out") });
    run.lifecycle.on("user_bash", () => answer as never);
    await expect
      .soft(run.agent.runUserCommand("ls"), JSON.stringify(answer))
      .rejects.toMatchObject({ code: "command_blocked" });
    expect.soft(run.session.path(), JSON.stringify(answer)).toEqual([]);
  }
});

test("a command that cannot be started, and one in a missing folder, are errors", async () => {
  const failing = scriptedAgent({ turn: [], shell: () => Promise.reject(new Error("ENOENT")) });
  for (const { agent } of [failing, scriptedAgent({ turn: [] })])
    await expect(agent.runUserCommand("true")).rejects.toMatchObject({ code: "command_failed" });
});

test("a command runs in the folder of the tools, which may differ from the session's, and can be cancelled", async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "bonsai-command-")));
  const run = scriptedAgent({ turn: [], cwd });
  const asked: string[] = [];
  run.lifecycle.on("user_bash", (event) => void asked.push(event.cwd));
  const heard: string[] = [];
  const onOutput = (text: string) => heard.push(text);
  expect(await run.agent.runUserCommand("pwd -P; exit 4", { onOutput })).toMatchObject({
    ...{ output: `${cwd}\n`, exitCode: 4, cancelled: false, truncated: false },
  });
  expect([heard.join(""), asked]).toEqual([`${cwd}\n`, [cwd]]);
  const abort = new AbortController();
  const options = { signal: abort.signal, onOutput: () => abort.abort() };
  expect(await run.agent.runUserCommand("echo hi; sleep 1000", options)).toMatchObject({
    ...{ output: "hi\n", cancelled: true },
  });
  rmSync(cwd, { recursive: true });
});
