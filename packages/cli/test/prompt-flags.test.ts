import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSessions } from "@bonsai-agent/session";
import { everyRow, loopbackServer, sseChunks, wires } from "@bonsai-agent/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AgentProject, agentProject, says } from "./agent-project.ts";
import { type CliRun, jsonOf, runCli } from "./run-cli.ts";

/** What the tests look at in a request to Chat Completions. */
interface Sent {
  model: string;
  reasoning_effort?: string;
  messages: { role: string; content: string }[];
}

/** A project whose models are served on the loopback device; nothing else is known there. */
async function servedProject(models: readonly object[], files: Record<string, string> = {}) {
  const server = await loopbackServer(() => ({
    headers: { "content-type": "text/event-stream" },
    chunks: sseChunks(wires["openai-chat"].answer({ text: "ok" })),
  }));
  onTestFinished(() => server.close());
  const { cwd, home, env } = agentProject(says("-"), files);
  const providers = [{ provider: "box", baseUrl: `${server.url}/v1`, models }];
  writeFileSync(join(home, "models.json"), JSON.stringify({ providers }));
  return {
    home,
    run: (...argv: string[]): Promise<CliRun> => runCli(argv, { cwd, env }),
    /** The last request. */
    sent: () => server.requests.at(-1)?.body as Sent,
  };
}

const thinker = { id: "llama3:8b", contextWindow: 32_000, reasoning: true };

describe("the model of a prompt", () => {
  test("the flags choose model and thinking level", () =>
    everyRow([
      [["--model", "box/llama3:8b"], "llama3:8b", undefined],
      [["--model", "box/llama3:8b:high"], "llama3:8b", "high"],
      [["--model", "box/llama3:8b:HIGH", "--thinking", "low"], "llama3:8b", "low"],
      [["--model", "llama3:8b:medium"], "llama3:8b", "medium"],
      [["--provider", "box", "--model", "llama3:8b:low"], "llama3:8b", "low"],
      [["--provider", "box", "--model", "box/llama3:8b"], "llama3:8b", undefined],
      [["--provider", "box", "--model", "a/b:free"], "a/b:free", undefined],
      [["--model", "box/odd:high"], "odd:high", undefined],
      [["--provider", "box", "--model", "box/x"], "box/x", undefined],
    ])(async ([flags, model, effort]) => {
      const project = await servedProject([
        thinker,
        { id: "odd:high", contextWindow: 32_000 },
        { id: "box/x", contextWindow: 32_000 },
      ]);
      const { code, stderr } = await project.run("-p", "hi", ...flags);
      expect(code, stderr).toBe(0);
      expect([project.sent().model, project.sent().reasoning_effort]).toEqual([model, effort]);
    }));

  test("a level of thinking behind the model of the settings holds for sessions that begin with it", async () => {
    const project = await servedProject([thinker]);
    const settings = { model: "box/llama3:8b:high", thinking: "low" };
    writeFileSync(join(project.home, "settings.json"), JSON.stringify(settings));
    await project.run("-p", "hi");
    expect(project.sent().reasoning_effort).toBe("high");
    await project.run("-p", "hi", "--thinking", "medium");
    expect(project.sent().reasoning_effort).toBe("medium");
    await project.run("-p", "hi", "-c");
    expect(project.sent().reasoning_effort).toBe("medium");
  });

  test("a part of a name chooses the only usable model, or names the missing key", async () => {
    const project = await servedProject([thinker, { id: "mistral:7b", contextWindow: 9_000 }]);
    await project.run("-p", "hi", "--model", "lama");
    expect(project.sent().model).toBe("llama3:8b");
    const several = await project.run("-p", "hi", "--model", "b");
    expect(several.stderr).toContain("[model_ambiguous]");
    const locked = await project.run("-p", "hi", "--model", "claude-opus-4-8");
    expect(locked.stderr).toContain("ANTHROPIC_API_KEY");
    const part = await project.run("-p", "hi", "--model", "opus-4-8");
    expect(part.stderr).toContain("[model_needs_key]");
    expect([several.code, locked.code, part.code]).toEqual([1, 1, 1]);
  });

  test("--provider needs --model", async () => {
    const project = await servedProject([thinker]);
    const { code, stderr } = await project.run("-p", "hi", "--provider", "box");
    expect(code).toBe(2);
    expect(stderr).toContain("--provider needs --model");
  });
});

describe("the system prompt of a prompt", () => {
  const system = (sent: Sent) => sent.messages.find(({ role }) => role === "system")?.content ?? "";
  const files = { "AGENTS.md": "Speak Welsh.", "role.md": "You are a reviewer.\n" };

  test("--system-prompt replaces Bonsai's own and keeps the project's instructions", async () => {
    const project = await servedProject([thinker], files);
    await project.run("-p", "hi", "--model", "box/llama3:8b", "--system-prompt", "Be a poet.");
    expect(system(project.sent())).toMatch(/^Be a poet\.\n\n.*\n\nWorking folder: /s);
    expect(system(project.sent())).toContain("Speak Welsh.");
    expect(system(project.sent())).not.toContain("You are Bonsai");
  });

  test("--append-system-prompt adds texts and files in their order", async () => {
    const project = await servedProject([thinker], files);
    const flags = ["--append-system-prompt", "role.md", "--append-system-prompt", "Be brief: it's late."];
    await project.run("-p", "hi", "--model", "box/llama3:8b", ...flags);
    expect(system(project.sent())).toMatch(
      /You are Bonsai.*You are a reviewer\.\n\n\nBe brief: it's late\.\n\n# Skills\n.*\n\nWorking folder: /s,
    );
  });

  test("an empty one leaves Bonsai's own out", async () => {
    const project = await servedProject([thinker]);
    await project.run("-p", "hi", "--model", "box/llama3:8b", "--system-prompt", "");
    expect(system(project.sent())).toMatch(/^# Skills\n.*\n\nWorking folder: /s);
  });

  test("a pipe is read as a file is, and a folder is named as one", async () => {
    const project = await servedProject([thinker]);
    const to = (name: string) => ["-p", "hi", "--model", "box/llama3:8b", "--system-prompt", name];
    const pipe = join(project.home, "pipe");
    execFileSync("mkfifo", [pipe]);
    spawn("sh", ["-c", 'printf "Be a poet." > "$1"', "sh", pipe]);
    await project.run(...to(pipe));
    expect(system(project.sent())).toMatch(/^Be a poet\./);
    expect((await project.run(...to(project.home))).stderr).toContain("it is a folder");
  });

  test("a path can only be a file", () =>
    everyRow(["./missing.txt", "missing.md", "/nowhere/at/all"])(async (name) => {
      const project = await servedProject([thinker]);
      const { code, stderr } = await project.run(
        "-p",
        "hi",
        "--model",
        "box/llama3:8b",
        "--system-prompt",
        name,
      );
      expect(code).toBe(2);
      expect(stderr.replaceAll(/\s+/g, " ")).toContain("the file does not exist");
      expect(project.sent()).toBeUndefined();
    }));
});

describe("--session-dir", () => {
  const inFolder = (project: AgentProject, folder: string) =>
    listSessions({ folder: join(project.cwd, folder) });

  test("new sessions, -c and -r, forks and lists are there, and nowhere else", async () => {
    const project = agentProject(says("ok"));
    const at = ["--session-dir", "kept/here"];
    await project.run(["one", ...at]);
    await project.run(["-c", "two", ...at]);
    expect(inFolder(project, "kept/here").sessions.map(({ firstWords }) => firstWords)).toEqual(["one"]);
    expect(listSessions(project).sessions).toEqual([]);
    const id = inFolder(project, "kept/here").sessions[0]!.id;
    expect((await project.run(["-r", id, "two and a half", ...at])).code).toBe(0);
    await project.run(["--fork", id, "three", ...at]);
    expect(inFolder(project, "kept/here").sessions).toHaveLength(2);
    const { cwd, env } = project;
    expect(await jsonOf<unknown[]>(["sessions", ...at], { cwd, env })).toHaveLength(2);
    expect(await jsonOf<unknown[]>(["sessions"], { cwd, env })).toEqual([]);
  });

  test("a file is no folder", async () => {
    const project = agentProject(says("ok"), { "a.txt": "" });
    const at = ["--session-dir", "a.txt"];
    const runs = [
      project.run(["hi", ...at]),
      project.run(["-c", "hi", ...at]),
      runCli(["sessions", ...at], project),
    ];
    for (const { code, stderr } of await Promise.all(runs))
      expect([code, stderr]).toEqual([2, expect.stringContaining('--session-dir "a.txt" is not a folder')]);
  });

  test("-c continues only a session of this folder", async () => {
    const project = agentProject(says("ok"));
    const other = agentProject(says("ok"));
    const at = ["--session-dir", join(project.cwd, "all")];
    await other.run(["theirs", ...at]);
    const { code, stderr } = await project.run(["-c", "mine", ...at]);
    expect(code).toBe(1);
    expect(stderr).toContain("[nothing_to_continue]");
  });
});
