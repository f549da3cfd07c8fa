import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostModules } from "@bonsai-agent/extension/host";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { builtCommand, history } from "@bonsai-agent/testkit";
import { beforeAll, expect, test } from "vitest";
import { type CliRun, runCli } from "../../packages/cli/test/run-cli.ts";
import { blocksOf, installLibraries } from "./guide-blocks.ts";

const blocks = blocksOf("docs/extensions.md");

const folder = mkdtempSync(join(tmpdir(), "bonsai-guide-"));
const home = join(folder, "home");
const work = join(folder, "work");

/** Makes an empty folder, with the command on the PATH and a scripted model. */
beforeAll(() => {
  for (const made of [home, work, join(folder, "bin"), join(home, ".bonsai")]) mkdirSync(made);
  const command = `exec "${process.execPath}" "${builtCommand()}" "$@"`;
  writeFileSync(join(folder, "bin/bonsai"), `#!/bin/sh\n${command}\n`);
  chmodSync(join(folder, "bin/bonsai"), 0o755);
  const scenario = join(folder, "scenario.json");
  const turn = [{ text: "For thirty tests to be mended." }];
  writeFileSync(scenario, JSON.stringify({ contextWindow: 200_000, turn }));
  writeFileSync(join(home, ".bonsai/settings.json"), JSON.stringify({ model: `scripted/${scenario}` }));
});

const environment = () => ({ HOME: home, BONSAI_HOME: join(home, ".bonsai"), NO_COLOR: "1" });

/** Runs the lines of a block in turn: `bonsai` in this process, other commands in a shell. */
async function run(script: string): Promise<CliRun> {
  const all: CliRun = { code: 0, stdout: "", stderr: "" };
  for (const line of script.trim().split("\n")) {
    const { code, stdout, stderr } = line.startsWith("bonsai ") ? await bonsai(line) : shell(line);
    all.code ||= code;
    all.stdout += stdout;
    all.stderr += stderr;
  }
  return all;
}

function bonsai(line: string): Promise<CliRun> {
  const [, ...args] = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
  return runCli(args, { cwd: work, env: environment(), stdin: "" });
}

function shell(line: string): CliRun {
  const env = { ...process.env, ...environment(), PATH: `${join(folder, "bin")}:${process.env.PATH}` };
  const { status, stdout, stderr } = spawnSync("sh", ["-c", line], { cwd: work, env, encoding: "utf8" });
  return { code: status ?? 1, stdout, stderr };
}

/** Expected output of each block of commands, by its first line. */
const printed: Record<string, string[]> = {
  "node make-session.mjs": ["30"],
  "bonsai compact session.jsonl -e ./my-summary.ts -o small.jsonl": ["- Day 1: mend test 1."],
  'bonsai -p "What have I asked for so far?" -r small.jsonl -e ./my-summary.ts': [
    "For thirty tests to be mended.",
  ],
  "mkdir -p ~/.bonsai/extensions": ["my-summary.ts"],
  "node --test my-summary.test.ts": ["pass 1"],
  "bonsai extension add .": ["my-summary"],
  "bonsai compact session.jsonl -e ./in-short.ts -o short.jsonl": ["The user spoke"],
  "cp session.jsonl branch.jsonl": ["summary"],
  'bonsai -p "/keep Never push to main." -r session.jsonl -e ./keep.ts': [
    "<kept>\\nNever push to main.\\n</kept>",
  ],
  'bonsai -p "Release it." --no-session -e ./push-guard.ts --allow-push': ["For thirty tests to be mended."],
  'bonsai -p "/review-file keep.ts" -e ./reviews.ts -r small.jsonl': [
    "Review keep.ts: what can fail in it, and which test is missing?",
  ],
  'bonsai -p "hello" --no-session --model parrot/grey -e ./parrot.ts': ["hello, hello!"],
  "bonsai login -e ./corp.ts": ["Corporate AI"],
};

test("every command of the extension guide works in an empty folder", async () => {
  const seen: string[] = [];
  for (const { language, text, file, isByHand } of blocks) {
    if (file !== undefined) writeFileSync(join(work, file), text);
    else if (isByHand && text.includes("--save-dev")) installLibraries(work);
    else if (language === "sh" && !isByHand) {
      const { code, stdout, stderr } = await run(text);
      const [first] = text.split("\n");
      expect({ text, code, stderr, stdout }).toMatchObject({ code: 0 });
      for (const words of printed[first!] ?? [`an entry for ${first}`]) expect(stdout).toContain(words);
      seen.push(first!);
    }
  }
  expect(seen).toEqual(Object.keys(printed));
}, 120_000);

test("every block is a file, a command or marked 'by hand'", () => {
  const others = blocks.filter(
    ({ language, file, isByHand }) => language !== "sh" && file === undefined && !isByHand,
  );
  expect(others).toEqual([]);
});

/** Opens a session with an extension of the guide. */
async function withExtension(
  file: string,
  options: OpenTestSessionOptions,
  act: (session: TestSession) => Promise<void>,
): Promise<void> {
  const session = await openTestSession({ ...options, extensions: join(work, file), modules: hostModules() });
  await act(session);
  expect(session.extensions.failed).toEqual([]);
  await session.close();
}

const long = () => history("U:9000 A U:9000 A U:9000 A U:3000 A").session;

test("cheap-summary.ts uses the cheap model, or the default without it", async () => {
  const otherModels = [{ provider: "anthropic", id: "claude-haiku-4-5" }];
  const asked = async (prepare: (session: TestSession) => void) => {
    let models: string[] = [];
    await withExtension("cheap-summary.ts", { session: long(), otherModels }, async (session) => {
      prepare(session);
      expect((await session.agent.compact()).status).toBe("compacted");
      models = session.requests.map(({ model }) => model.id);
      const areInstructionsSent = session.requests.every(({ messages }) =>
        JSON.stringify(messages).includes("Cover all measurements in detail."),
      );
      expect(areInstructionsSent).toBe(models.includes("claude-haiku-4-5"));
    });
    return models;
  };
  const key = JSON.stringify({ anthropic: { type: "api_key", key: "a-key" } });
  const giveKey = ({ cwd }: TestSession) => writeFileSync(join(cwd, "auth.json"), key, { mode: 0o600 });
  expect(await asked(giveKey)).toEqual(["claude-haiku-4-5"]);
  expect(await asked(() => {})).toEqual(["test"]);
});

test("in-short.ts carries the user's words and the terms", async () => {
  const { session } = history('U"Make retry_limit 40." A(t1=read:src/limits.ts) T1:9000 A:9000 U:9000 A');
  await withExtension("in-short.ts", { session }, async ({ agent }) => {
    expect((await agent.compact()).status).toBe("compacted");
    const { summary } = session.projection().compaction!;
    expect(summary).toMatch(/^The user spoke \d times?/);
    expect(summary).toMatch(/<user-words>[\s\S]*Make retry_limit 40\.[\s\S]*<\/user-words>/);
  });
});

test("not-now.ts cancels inside a turn", async () => {
  const session = history("U A(t1) T1:9000 A(t2) T2:9000 A(t3) T3:9000 A").session;
  await withExtension("not-now.ts", { session }, async ({ agent }) => {
    const { status, detail } = await agent.compact();
    expect({ status, detail }).toEqual({
      status: "cancelled",
      detail: expect.stringContaining("A task is still running."),
    });
  });
  await withExtension("not-now.ts", { session: long() }, async ({ agent }) => {
    expect((await agent.compact()).status).toBe("compacted");
  });
});

test("word-count.ts counts words and reports a missing file", async () => {
  const call = (path: string) => ({ calls: [{ name: "word_count", arguments: { path } }] });
  const answers = [call("package.json"), call("nothing.txt"), "done"];
  await withExtension("word-count.ts", { answers, cwd: work }, async (session) => {
    await session.prompt("count");
    const results = session.session
      .projection()
      .items.flatMap(({ message }) =>
        message.role === "toolResult" ? [{ isError: message.isError, content: message.content }] : [],
      );
    expect(results).toEqual([
      { isError: false, content: [{ type: "text", text: expect.stringMatching(/^\d+ words$/) }] },
      { isError: true, content: [{ type: "text", text: expect.stringContaining("ENOENT") }] },
    ]);
  });
});

test("reviews.ts adds a prompt template", async () => {
  await withExtension("reviews.ts", {}, async (session) => {
    expect(session.resources.promptPaths).toEqual([join(work, "review-file.md")]);
  });
});

test("keep.ts keeps texts through two compactions, but not on an earlier branch", async () => {
  await withExtension("keep.ts", { session: long(), ui: {} }, async (session) => {
    await session.command("/keep Never push to main.");
    const details = { text: "Two spaces.", line: "Two spaces." };
    const pin = { customType: "bonsai.pin", content: "Pinned: Two spaces.", display: true, details };
    await session.agent.sendMessage(pin);
    await session.agent.compact();
    await session.command("/keep Tabs, not spaces.");
    session.session.append({
      type: "message",
      message: { role: "user", content: "abc ".repeat(30_000), timestamp: 0 },
    });
    await session.agent.compact();
    const summary = session.session.projection().compaction!.summary;
    expect(summary).toMatch(/<kept>[\s\S]*Never push to main\.[\s\S]*Tabs, not spaces\.[\s\S]*<\/kept>/);
    expect(summary).toContain("<pinned>\nTwo spaces.\n</pinned>");
    expect(session.ui.map(({ args }) => args[0])).toEqual(["1 kept", "2 kept"]);
    const first = session.session.entries().find(({ type }) => type === "message")!;
    await session.agent.navigate(first.id);
    await session.command("/keep A third.");
    expect(session.ui.at(-1)!.args[0]).toBe("1 kept");
  });
});

test.each([
  ["nobody can be asked", {}, false],
  ["the user says no", { ui: { confirm: false } }, false],
  ["the user says yes", { ui: { confirm: true } }, true],
  ["the flag is set", { flags: { "allow-push": true } }, true],
])("push-guard.ts, when %s", async (_, options, isAllowed) => {
  const answers = [{ calls: [{ name: "bash", arguments: { command: "echo git push" } }] }, "done"];
  await withExtension("push-guard.ts", { ...options, answers }, async (session) => {
    await session.prompt("push");
    const { message } = session.session
      .projection()
      .items.find((item) => item.message.role === "toolResult")!;
    expect(message).toMatchObject({ isError: !isAllowed });
  });
});

test("notes.ts shows notes and puts the chosen one into the editor", async () => {
  const drawn: (string[] | undefined)[] = [];
  const ui: OpenTestSessionOptions["ui"] = {
    custom(component) {
      component.handleInput("tui.select.down");
      drawn.push(component.render(80));
      component.handleInput("tui.select.confirm");
    },
  };
  await withExtension("notes.ts", { ui }, async (session) => {
    await session.command("/note The roof leaks.");
    await session.command("/note So does the tap.");
    await session.command("/notes");
    expect(drawn).toEqual([[" The roof leaks. ", " So does the tap. "]]);
    expect(session.ui.at(-1)).toEqual({ method: "setEditorText", args: ["So does the tap."] });
  });
});

test("branch-log.ts writes the summary of a branch", async () => {
  const { session, id } = history("U A U A:3");
  await withExtension("branch-log.ts", { session }, async ({ agent }) => {
    const { summaryEntry } = await agent.navigate(id("a1"), { summarise: true });
    expect(summaryEntry?.summary).toContain("The other branch ended with: ");
  });
});

test("the models guide has a valid models.json and a scripted model that answers", async () => {
  for (const { language, text, file } of blocksOf("docs/models.md")) {
    if (file === "models.json") writeFileSync(join(home, ".bonsai", file), text);
    else if (file !== undefined) writeFileSync(join(work, file), text);
    else if (language === "sh") expect(await run(text)).toMatchObject({ code: 0, stdout: "Done.\n" });
  }
});

test("the command of the RPC guide pipes a prompt into a process and gets an answer", async () => {
  const [line] = blocksOf("docs/rpc.md").filter(({ language }) => language === "sh");
  const { code, stdout } = await run(line!.text);
  expect(code).toBe(0);
  const lines = stdout
    .trim()
    .split("\n")
    .map((each) => JSON.parse(each));
  expect(lines.find(({ type }) => type === "response")).toMatchObject({ id: 1, success: true });
  expect(lines.find(({ type }) => type === "agent_end")).toMatchObject({ result: { status: "done" } });
});
