import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { listSessions, openSession } from "@bonsai-agent/session";
import { everyRow, type LoopbackServer, loopbackServer, sseChunks, wires } from "@bonsai-agent/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { type AgentProject, agentProject, says } from "./agent-project.ts";
import { RpcSession } from "./rpc-session.ts";
import { runCli } from "./run-cli.ts";

/** A chat server whose requests are recorded. */
async function chatServer(): Promise<LoopbackServer> {
  const server = await loopbackServer(() => ({
    headers: { "content-type": "text/event-stream" },
    chunks: sseChunks(wires["openai-chat"].answer({ text: "ok" })),
  }));
  onTestFinished(() => server.close());
  return server;
}

/** A project with a provider "box" that needs a key. */
async function keyProject(files: Record<string, string> = {}) {
  const server = await chatServer();
  const project = agentProject(says("-"), files);
  const models = [{ id: "m", contextWindow: 32_000 }];
  const box = { provider: "box", baseUrl: `${server.url}/v1`, apiKeyEnv: "BOX_KEY", models };
  writeFileSync(join(project.home, "models.json"), JSON.stringify({ providers: [box] }));
  const run = (...argv: string[]) => runCli(argv, { cwd: project.cwd, env: project.env });
  return { ...project, server, run };
}

/** Runs the same flags in print, JSON and RPC mode. */
async function inEachMode(project: AgentProject, flags: readonly string[]): Promise<string[]> {
  const print = await project.run(["-p", "hi", ...flags]);
  const json = await project.run(["--mode", "json", "hi", ...flags]);
  const rpc = new RpcSession(project, flags);
  await rpc.ask({ type: "prompt", message: "hi" });
  await rpc.wait(({ type }) => type === "agent_end");
  const ended = await rpc.end();
  return [print, json, ended].map(({ stdout, stderr }) => stdout + stderr);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name), "utf8"));
}

describe("--api-key", () => {
  const key = "sk-only-for-this-run-123456";

  test("is the key of the model's provider, and is written nowhere", async () => {
    const { server, run, home } = await keyProject();
    const flags = ["--model", "box/m", "--api-key", key, "--debug"];
    const { code, stdout, stderr } = await run("-p", `hi ${key}`, ...flags);
    expect(code, stderr).toBe(0);
    expect(server.requests.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
    expect(stdout + stderr).not.toContain(key);
    await run("-p", "hi", ...flags);
    for (const text of filesBelow(home)) expect(text.replace(`hi ${key}`, "")).not.toContain(key);
    await run("-p", "hi", "--model", "box/m");
    expect(server.requests.at(-1)?.headers.authorization).toBeUndefined();
  });

  test("is masked in tool results", async () => {
    const project = agentProject({
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "read", arguments: { path: "a.txt" } }] }, { text: "done" }],
    });
    writeFileSync(join(project.cwd, "a.txt"), `key ${key}`);
    const models = [{ id: "m", contextWindow: 32_000 }];
    const box = { provider: "scripted", baseUrl: "http://127.0.0.1:1/v1", apiKeyEnv: "BOX_KEY", models };
    writeFileSync(join(project.home, "models.json"), JSON.stringify({ providers: [box] }));
    const { code, stderr } = await project.run(["-p", "hi", "--api-key", key]);
    expect(code, stderr).toBe(0);
    for (const text of filesBelow(project.home)) expect(text).not.toContain(key);
  });

  test("--api-key without a usable model or value is wrong usage", () =>
    everyRow([
      [["--api-key", key], "--api-key needs --model"],
      [["--api-key", key, "--model", "nothing"], "does not name one"],
      [["--api-key", "", "--model", "box/m"], "must not be empty"],
    ])(async ([flags, words]) => {
      const { run } = await keyProject();
      const { code, stderr } = await run("-p", "hi", ...flags);
      expect([code, stderr.replaceAll(/\s+/g, " ")]).toEqual([2, expect.stringContaining(words)]);
      expect(stderr).not.toContain(key);
    }));

  test("an unknown provider is named, also with --api-key", async () => {
    const { run } = await keyProject();
    const { code, stderr } = await run("-p", "hi", "--model", "nope/m1", "--api-key", key);
    expect([code, stderr]).toEqual([1, expect.stringContaining('Unknown provider "nope".')]);
    expect(stderr).not.toContain(key);
  });

  test("a key with a space is refused without showing it", async () => {
    const { run } = await keyProject();
    const { code, stderr } = await run("-p", "hi", "--model", "box/m", "--api-key", "sk-secret word");
    expect([code, stderr]).toEqual([1, expect.stringContaining("[keys_invalid]")]);
    expect(stderr).not.toContain("sk-secret");
  });
});

describe("--tools none and --exclude-tools", () => {
  const asks = { contextWindow: 100_000, turn: [{ calls: [{ name: "ls" }] }, { text: "done" }] };
  const result = async (...flags: string[]) => {
    const { run, cwd, home } = agentProject(asks);
    const { stderr } = await run(["-p", "hi", ...flags]);
    const { items } = openSession(listSessions({ cwd, home }).sessions[0]!.file).projection();
    return JSON.stringify(items.find(({ message }) => message.role === "toolResult")?.message) + stderr;
  };

  test("take tools away, also where --tools names them", async () => {
    expect(await result("--tools", "none")).toContain("Unknown tool ls");
    expect(await result("--exclude-tools", "bash, ls")).toContain("Unknown tool ls");
    expect(await result("--exclude-tools", "ls", "--tools", "ls,read")).toContain("Unknown tool ls");
    expect(await result("--exclude-tools", "bash")).not.toContain("Unknown tool");
  });

  test("warn about an unknown name, and refuse an empty list", async () => {
    expect(await result("--exclude-tools", "bsah")).toContain("no tool is named bsah");
    const { run } = agentProject(asks);
    for (const flag of ["--exclude-tools", "--tools"])
      expect(await run(["-p", "hi", flag, ","])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("[wrong_usage]"),
      });
  });

  test("an extension cannot offer an excluded tool", async () => {
    const extension = `export default (bonsai) => {
      bonsai.registerTool({ name: "ls", description: "x", parameters: { type: "object", properties: {} },
        execute: async () => ({ content: [{ type: "text", text: "own" }] }) });
      bonsai.on("session_start", () => bonsai.setActiveTools(["ls"]));
    };`;
    const { run, cwd, home } = agentProject(asks, { "own.ts": extension });
    const said = await run(["-p", "hi", "-e", "own.ts", "--exclude-tools", "ls"]);
    expect(said.code, said.stderr).toBe(0);
    const [session] = listSessions({ cwd, home }).sessions;
    expect(readFileSync(session!.file, "utf8")).toContain("Unknown tool ls");
  });
});

describe("instructions, trust and extensions", () => {
  const greeting = (word: string) =>
    `export default (bonsai) => bonsai.on("session_start", (_event, ctx) => ctx.ui.notify("${word}"));`;

  function ownedProject(): AgentProject {
    const project = agentProject(says("ok"), { "AGENTS.md": "Speak Welsh." });
    for (const folder of [join(project.cwd, ".bonsai/extensions"), join(project.home, "extensions")])
      mkdirSync(folder, { recursive: true });
    writeFileSync(join(project.cwd, ".bonsai/extensions/a.ts"), greeting("from the project"));
    writeFileSync(join(project.home, "extensions/b.ts"), greeting("from the user"));
    mkdirSync(join(project.home, "skills/pdf"), { recursive: true });
    writeFileSync(
      join(project.home, "skills/pdf/SKILL.md"),
      "---\nname: pdf\ndescription: Reads PDF files\n---\n",
    );
    return project;
  }

  test("--approve trusts the project for this run only, in every mode", async () => {
    const project = ownedProject();
    for (const said of await inEachMode(project, ["--approve"])) {
      expect(said).toContain("from the project");
      expect(said).not.toContain("not trusted");
    }
    expect(existsSync(join(project.home, "trust.json"))).toBe(false);
    for (const said of await inEachMode(project, [])) {
      expect(said).not.toContain("from the project");
      expect(said).toContain("not trusted");
    }
  });

  test("--bare loads nothing of the user's or the project's, in every mode", async () => {
    const project = ownedProject();
    for (const said of await inEachMode(project, ["--bare", "--approve"])) {
      expect(said).not.toMatch(/from the (project|user)/);
      expect(said).not.toContain("not trusted");
    }
    const { stdout } = await project.run(["-p", "hi", "--bare", "-e", join(project.home, "extensions/b.ts")]);
    expect(stdout).toContain("ok");
  });

  test("--no-context-files and --bare leave AGENTS.md out, --bare the skills too", async () => {
    const project = await keyProject({ "AGENTS.md": "Speak Welsh." });
    mkdirSync(join(project.home, "skills/pdf"), { recursive: true });
    writeFileSync(
      join(project.home, "skills/pdf/SKILL.md"),
      "---\nname: pdf\ndescription: Reads PDF files\n---\n",
    );
    const prompt = async (...flags: string[]) => {
      const { code, stderr } = await project.run("-p", "hi", "--model", "box/m", "--api-key", "k", ...flags);
      expect(code, stderr).toBe(0);
      return JSON.stringify(project.server.requests.at(-1)?.body);
    };
    expect(await prompt()).toMatch(/Speak Welsh.*Reads PDF|Reads PDF.*Speak Welsh/);
    expect(await prompt("--no-context-files")).not.toContain("Speak Welsh");
    expect(await prompt("--no-context-files")).toContain("Reads PDF");
    expect(await prompt("--bare")).not.toMatch(/Speak Welsh|Reads PDF/);
  });
});

describe("--offline", () => {
  test("connects to the chosen model and to nothing else", async () => {
    const other = await chatServer();
    const project = await keyProject({
      ".mcp.json": JSON.stringify({ mcpServers: { far: { type: "http", url: `${other.url}/mcp` } } }),
      "net.ts": `export default (bonsai) => bonsai.on("session_start", async (_event, ctx) => {
        await fetch("${other.url}/extension").catch((error) => ctx.ui.notify(error.message));
      });`,
    });
    const models = JSON.parse(readFileSync(join(project.home, "models.json"), "utf8"));
    // A local server without a listed model is probed, and a small model titles sessions.
    const far = { provider: "far", baseUrl: `${other.url}/v1`, models: [{ id: "s", contextWindow: 32_000 }] };
    const probed = { provider: "probed", baseUrl: `${other.url}/probed/v1`, models: [] };
    writeFileSync(
      join(project.home, "models.json"),
      JSON.stringify({ providers: [...models.providers, far, probed] }),
    );
    writeFileSync(join(project.home, "settings.json"), JSON.stringify({ smallModel: "far/s" }));
    const mcp = resolve(import.meta.dirname, "../../../extensions/mcp/index.ts");
    const flags = ["--model", "box/m", "--api-key", "k", "--approve", "-e", "net.ts", "-e", mcp];
    const online = await project.run("-p", "hi", ...flags);
    expect(online.code, online.stderr).toBe(0);
    const reached = other.requests.length;
    expect(reached).toBeGreaterThan(0);
    const served = project.server.requests.length;
    const offline = await project.run("-p", "hi", ...flags, "--offline");
    expect(offline.code, offline.stderr).toBe(0);
    expect(offline.stdout).toBe("ok\n");
    expect(offline.stderr.replaceAll(/\s+/g, " ")).toContain("--offline allows only the chosen model.");
    expect(other.requests.length).toBe(reached);
    expect(project.server.requests.length).toBeGreaterThan(served);
    const unreachable = await project.run("-p", "hi", "--offline");
    expect([unreachable.code, other.requests.length]).toEqual([1, reached]);
  });

  test("follows /model and set_model to another provider, and gives fetch back at the end", async () => {
    const other = await chatServer();
    const project = await keyProject();
    const models = JSON.parse(readFileSync(join(project.home, "models.json"), "utf8"));
    const second = {
      provider: "two",
      baseUrl: `${other.url}/v1`,
      models: [{ id: "s", contextWindow: 32_000 }],
    };
    writeFileSync(
      join(project.home, "models.json"),
      JSON.stringify({ providers: [...models.providers, second] }),
    );
    const before = globalThis.fetch;
    const run = (argv: readonly string[], options = {}) =>
      runCli(argv, { cwd: project.cwd, env: project.env, ...options });
    const rpc = new RpcSession({ ...project, run }, ["--model", "box/m", "--api-key", "k", "--offline"]);
    await rpc.ask({ type: "prompt", message: "one" });
    await rpc.wait(({ type }) => type === "agent_end");
    expect(other.requests.filter(({ method }) => method === "POST")).toEqual([]);
    await rpc.ask({ type: "set_model", provider: "two", modelId: "s" });
    const at = rpc.lines.length;
    await rpc.ask({ type: "prompt", message: "two" });
    await rpc.wait(({ type }) => type === "agent_end", at);
    await rpc.end();
    expect(other.requests.some(({ path }) => path.endsWith("/chat/completions"))).toBe(true);
    expect(globalThis.fetch).toBe(before);
  });
});

describe("--fork and -r", () => {
  test("--fork SESSION:ENTRY copies up to the entry; -r takes a file", async () => {
    const project = agentProject(says("ok"));
    await project.run(["-p", "one"]);
    await project.run(["-p", "-c", "two"]);
    const [session] = listSessions(project).sessions;
    const { file, id } = session!;
    const first = openSession(file).projection().items[1]!;
    const entry = (first as { entryId?: string; entry?: { id: string } }).entryId ?? "";
    const forked = await project.run(["-p", "three", "--fork", `${id.slice(0, 8)}:${entry}`]);
    expect(forked.code, forked.stderr).toBe(0);
    const texts = listSessions(project).sessions.map(({ file }) => readFileSync(file, "utf8"));
    const copy = texts.find((text) => text.includes("three"))!;
    expect([copy.includes("one"), copy.includes("two")]).toEqual([true, false]);
    expect((await project.run(["-p", "four", "-r", file])).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain("four");
    const missing = await project.run(["-p", "x", "--fork", `${id.slice(0, 8)}:nowhere`]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("[entry_not_found]")]);
  });
});
