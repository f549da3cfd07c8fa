import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSession } from "@bonsai-agent/session";
import { describe, expect, test } from "vitest";
import { type AgentProject, agentProject, says } from "./agent-project.ts";
import { isEnd, type RpcLine, RpcSession } from "./rpc-session.ts";
import { runCli } from "./run-cli.ts";

/** An extension whose command `/do` does this; `told` gives what came of it to the client. */
function does(statement: string, more = "", scenario = says("the answer")): AgentProject {
  return agentProject(scenario, {
    "own.ts": `export default (bonsai) => {
      ${more}
      bonsai.registerCommand("do", {
        description: "does it",
        handler: async (args, ctx) => {
          const told = (value) => ctx.ui.notify("told " + JSON.stringify(value ?? null));
          ${statement}
        },
      });
    };`,
  });
}

function rpcWith(project: AgentProject, argv: readonly string[] = []): RpcSession {
  return new RpcSession(project, ["-e", "own.ts", ...argv]);
}

const isQuestion = ({ type, method }: RpcLine): boolean =>
  type === "extension_ui_request" && ["select", "confirm", "input", "editor"].includes(method as string);

const told = async (rpc: RpcSession, from = 0): Promise<unknown> => {
  const line = await rpc.wait(
    ({ method, message }) => method === "notify" && String(message).startsWith("told "),
    from,
  );
  return JSON.parse((line.message as string).slice("told ".length));
};

describe("questions over RPC", () => {
  test.each([
    [
      `ctx.ui.select("Which?", ["red", "green"])`,
      { method: "select", title: "Which?", options: ["red", "green"] },
      { value: "green" },
      "green",
    ],
    [`ctx.ui.select("Which?", ["red"])`, { method: "select" }, { value: "blue" }, null],
    [`ctx.ui.select("Which?", ["red"], { timeout: 60000 })`, { timeout: 60_000 }, { cancelled: true }, null],
    [
      `ctx.ui.confirm("Sure?", "All.")`,
      { method: "confirm", title: "Sure?", message: "All." },
      { confirmed: true },
      true,
    ],
    [`ctx.ui.confirm("Sure?", "All.")`, { method: "confirm" }, { confirmed: false }, false],
    [`ctx.ui.confirm("Sure?", "All.")`, { method: "confirm" }, { confirmed: true, cancelled: true }, false],
    [`ctx.ui.confirm("Sure?", "All.")`, { method: "confirm" }, { value: "yes" }, false],
    [
      `ctx.ui.input("Name?", "like Ada")`,
      { method: "input", title: "Name?", placeholder: "like Ada" },
      { value: "" },
      "",
    ],
    [`ctx.ui.input("Name?")`, { method: "input", title: "Name?" }, { cancelled: true }, null],
    [
      `ctx.ui.editor("Text?", "before")`,
      { method: "editor", title: "Text?", prefill: "before" },
      { value: "a\nb" },
      "a\nb",
    ],
    [`ctx.ui.editor("Text?")`, { method: "editor" }, { cancelled: true }, null],
  ])("%s, answered with %j: %j", async (expression, request, answer, value) => {
    const rpc = rpcWith(does(`told(await ${expression});`));
    rpc.send({ id: 1, type: "prompt", message: "/do" });
    const question = await rpc.wait(isQuestion);
    expect(question).toMatchObject({ type: "extension_ui_request", id: expect.any(String), ...request });
    rpc.send({ type: "extension_ui_response", id: question.id, ...answer });
    expect(await told(rpc)).toEqual(value);
    expect(await rpc.wait(({ id }) => id === 1)).toMatchObject({ success: true, data: { queued: false } });
    expect(await rpc.end()).toMatchObject({ code: 0, stderr: "" });
  });

  test("what is only shown is told, and waits for nothing", async () => {
    const rpc = rpcWith(
      does(`
        ctx.ui.notify("hello", "warning");
        ctx.ui.setStatus("key", "busy"); ctx.ui.setStatus("key", undefined);
        ctx.ui.setWidget("box", ["one", "two"], { placement: "belowEditor" }); ctx.ui.setWidget("box", undefined);
        ctx.ui.setTitle("title"); ctx.ui.setEditorText("text"); told([ctx.ui.getEditorText(), ctx.hasUI, ctx.mode]);`),
    );
    await rpc.ask({ type: "prompt", message: "/do" });
    const shown = rpc.lines.filter(({ type }) => type === "extension_ui_request");
    expect(shown.map(({ type: _type, id: _id, ...line }) => line)).toEqual([
      { method: "notify", message: "hello", notifyType: "warning" },
      { method: "setStatus", statusKey: "key", statusText: "busy" },
      { method: "setStatus", statusKey: "key" },
      { method: "setWidget", widgetKey: "box", widgetLines: ["one", "two"], widgetPlacement: "belowEditor" },
      { method: "setWidget", widgetKey: "box", widgetPlacement: "aboveEditor" },
      { method: "setTitle", title: "title" },
      { method: "set_editor_text", text: "text" },
      { method: "notify", message: 'told ["",true,"rpc"]', notifyType: "info" },
    ]);
    expect(new Set(shown.map(({ id }) => id)).size).toBe(shown.length);
    await rpc.end();
  });

  test("an answer that is unknown, late or unreadable disturbs nothing", async () => {
    const rpc = rpcWith(does(`told(await ctx.ui.confirm("Sure?", "", { timeout: 1 }));`));
    rpc.send({ type: "extension_ui_response", id: "nobody", confirmed: true });
    rpc.send({ type: "prompt", message: "/do" });
    const { id } = await rpc.wait(isQuestion);
    expect(await told(rpc)).toBe(false);
    rpc.send({ type: "extension_ui_response", id, confirmed: true });
    rpc.send({ type: "extension_ui_response", confirmed: true });
    expect(await rpc.wait(({ command }) => command === "extension_ui_response")).toMatchObject({
      success: false,
      error: { code: "rpc_command_invalid" },
    });
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({ success: true });
    expect(rpc.lines.filter(({ command }) => command === "extension_ui_response")).toHaveLength(1);
    await rpc.end();
  });

  test("the extension's own signal ends one", async () => {
    const rpc = rpcWith(
      does(
        `const stop = new AbortController(); const asked = ctx.ui.input("?", "", { signal: stop.signal }); stop.abort(); told(await asked);`,
      ),
    );
    rpc.send({ type: "prompt", message: "/do" });
    expect(await told(rpc)).toBe(null);
    await rpc.end();
  });

  test.each(["input", "shutdown", "signal"])(
    "the end by %s answers what waits as if nobody were there",
    async (how) => {
      const stop = new AbortController();
      const project = does(
        `told(await ctx.ui.confirm("Sure?", "")); told(await ctx.ui.confirm("And now?", ""));`,
      );
      const rpc = new RpcSession(project, ["-e", "own.ts"], stop.signal);
      rpc.send({ type: "prompt", message: "/do" });
      await rpc.wait(isQuestion);
      if (how === "signal") stop.abort();
      if (how === "shutdown") rpc.send({ type: "shutdown" });
      const { code } = how === "input" ? await rpc.end() : await rpc.ended;
      expect(code).toBe(how === "signal" ? 130 : 0);
      expect(rpc.lines.filter(isQuestion)).toHaveLength(1);
    },
  );

  test("one that a command waits for is answered past that command; the next ones wait", async () => {
    const guard = `bonsai.on("session_before_switch", async (event, ctx) => ({ cancel: !(await ctx.ui.confirm("Leave?", "")) }));`;
    const rpc = rpcWith(does("", guard));
    rpc.send({ id: 1, type: "new_session" });
    const first = await rpc.wait(isQuestion);
    rpc.send({ id: 2, type: "get_state" });
    rpc.send({ type: "extension_ui_response", id: first.id, confirmed: false });
    expect(await rpc.wait(({ id }) => id === 1)).toMatchObject({ data: { cancelled: true } });
    expect(await rpc.wait(({ id }) => id === 2)).toMatchObject({ success: true });
    expect(rpc.lines.findIndex(({ id }) => id === 1)).toBeLessThan(rpc.lines.findIndex(({ id }) => id === 2));
    await rpc.end();
  });

  test.each([
    { type: "new_session", waits: `ctx.ui.confirm("Leave?", "")` },
    { type: "fork", waits: `ctx.ui.confirm("Leave?", "")` },
    { type: "new_session", waits: "new Promise(() => {})" },
  ])("abort gets past $type, where an extension waits for $waits", async ({ type, waits }) => {
    const guard = ["switch", "fork"]
      .map(
        (name) =>
          `bonsai.on("session_before_${name}", async (event, ctx) => { ctx.ui.setTitle("asked"); await ${waits}; });`,
      )
      .join("\n");
    const rpc = rpcWith(does("", guard));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isEnd);
    const { leafId, sessionId } = (await rpc.ask({ type: "get_state" })).data as RpcLine;
    rpc.send({ id: 1, type, ...(type === "fork" ? { entryId: leafId } : {}) });
    await rpc.wait(({ method }) => method === "setTitle");
    expect(await rpc.ask({ type: "abort" })).toMatchObject({ success: true });
    expect(await rpc.wait(({ id }) => id === 1)).toMatchObject({ data: { cancelled: true, sessionId } });
    expect(await rpc.ask({ type: "prompt", message: "still here" })).toMatchObject({ success: true });
    expect(await rpc.end()).toMatchObject({ code: 0, stderr: "" });
    expect(rpc.lines.filter(({ command }) => command === "abort")).toHaveLength(1);
  });

  test("shutdown gets past a command that never ends; what came behind it is not begun", async () => {
    const guard = `bonsai.on("session_before_switch", async (event, ctx) => { ctx.ui.setTitle("asked"); await new Promise(() => {}); });`;
    const rpc = rpcWith(does("", guard));
    rpc.send({ type: "new_session" });
    await rpc.wait(({ method }) => method === "setTitle");
    rpc.send({ type: "shutdown" });
    rpc.send({ type: "prompt", message: "too late" });
    expect((await rpc.ended).code).toBe(0);
    expect(rpc.lines.filter(({ type }) => type === "response").map(({ command }) => command)).toEqual([
      "shutdown",
      "new_session",
    ]);
  });

  test("abort ends a run that waits for an answer", async () => {
    const play = { contextWindow: 100_000, turn: [{ calls: [{ name: "ls" }] }, { text: "done" }] };
    const guard = `bonsai.on("tool_call", async (event, ctx) => ({ block: !(await ctx.ui.confirm("ls?", "")) }));`;
    const rpc = rpcWith(does("", guard, play as never));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isQuestion);
    expect(await rpc.ask({ type: "abort" })).toMatchObject({ success: true });
    expect(await rpc.wait(isEnd)).toMatchObject({ result: { status: "aborted" } });
    await rpc.end();
  });

  test("one that a session's start waits for can be answered", async () => {
    const start = `bonsai.on("session_start", async (event, ctx) => { ctx.ui.notify("told " + await ctx.ui.confirm("Begin?", "")); });`;
    const rpc = rpcWith(does("", start));
    const { id } = await rpc.wait(isQuestion);
    rpc.send({ type: "extension_ui_response", id, confirmed: true });
    expect(await told(rpc)).toBe(true);
    await rpc.end();
  });

  test("a tool that wants to leave the project asks the client", async () => {
    const project = agentProject(says(""));
    const path = join(project.home, "vault.txt");
    writeFileSync(path, "inside the vault");
    const play = join(project.home, "play.json");
    const turn = [{ calls: [{ name: "read", arguments: { path } }] }, { text: "done" }];
    writeFileSync(play, JSON.stringify({ contextWindow: 100_000, turn }));
    const rpc = new RpcSession(project);
    await rpc.ask({ type: "get_state" });
    await rpc.ask({ type: "set_model", provider: "scripted", modelId: play });
    await rpc.ask({ type: "prompt", message: "hi" });
    const question = await rpc.wait(isQuestion);
    expect(question).toMatchObject({ method: "confirm", message: `The tool read wants to read ${path}.` });
    rpc.send({ type: "extension_ui_response", id: question.id, confirmed: true });
    await rpc.wait(isEnd);
    const { messages } = (await rpc.ask({ type: "get_messages" })).data as { messages: object[] };
    expect(JSON.stringify(messages)).toContain("inside the vault");
    await rpc.end();
  });
});

describe("extensions over RPC", () => {
  test("get_commands and get_extensions tell of them", async () => {
    const project = does("", `bonsai.registerFlag("plan", { type: "boolean", default: false });`);
    const rpc = rpcWith(project, ["--plan"]);
    const path = join(project.cwd, "own.ts");
    expect((await rpc.ask({ type: "get_commands" })).data).toEqual({
      commands: [{ name: "do", description: "does it", source: "extension", path }],
    });
    expect((await rpc.ask({ type: "get_extensions" })).data).toEqual({
      loaded: [{ path, origin: "flag", loadMs: expect.any(Number) }],
      failed: [],
      flags: [{ name: "plan", type: "boolean", default: false }],
    });
    await rpc.end();
  });

  test("a flag that nobody knows ends the mode before it begins", async () => {
    const { run } = does("");
    const { code, stdout, stderr } = await run(["--mode", "rpc", "-e", "own.ts", "--plan"], { stdin: "" });
    expect([code, stdout]).toEqual([2, ""]);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: "wrong_usage",
      message: "Unknown option '--plan'.",
    });
  });

  test("a command that fails answers with the error; nothing ends", async () => {
    const rpc = rpcWith(does(`throw new Error("not today");`));
    expect(await rpc.ask({ type: "prompt", message: "/do" })).toMatchObject({
      success: false,
      error: { code: "extension_command_failed", message: expect.stringContaining("not today") },
    });
    expect(await rpc.ask({ type: "prompt", message: "hi" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("the work that a command gives the agent is told, and waited for at the end of the input", async () => {
    const rpc = rpcWith(does(`bonsai.sendUserMessage("from the extension");`));
    expect(await rpc.ask({ type: "prompt", message: "/do" })).toMatchObject({ success: true });
    await rpc.end();
    expect(rpc.lines.find(isEnd)).toMatchObject({ result: { status: "done" } });
  });

  test("a command runs during a run; it cannot be queued", async () => {
    const slow = {
      contextWindow: 100_000,
      turn: [{ calls: [{ name: "ls" }] }, { text: "slow", delayMs: 60_000 }],
    };
    const rpc = rpcWith(does(`told("ran " + args);`, "", slow as never));
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(({ type }) => type === "tool_execution_end");
    expect(await rpc.ask({ type: "prompt", message: "/do it now" })).toMatchObject({ success: true });
    expect(await told(rpc)).toBe("ran it now");
    for (const type of ["steer", "follow_up"])
      expect(await rpc.ask({ type, message: "/do" })).toMatchObject({
        success: false,
        error: { code: "rpc_command_invalid" },
      });
    await rpc.ask({ type: "abort" });
    await rpc.end();
  });

  test("reload takes what stands on disk now, with its session_shutdown and session_start", async () => {
    const project = does(
      "",
      `bonsai.on("session_start", ({ reason }, ctx) => ctx.ui.notify("first " + reason));`,
    );
    const rpc = rpcWith(project);
    await rpc.ask({ type: "get_state" });
    const second = `export default (bonsai) => {
      bonsai.on("session_start", ({ reason }, ctx) => { ctx.ui.notify("second " + reason); });
      bonsai.registerCommand("other", { handler() {} });
    }`;
    writeFileSync(join(project.cwd, "own.ts"), second);
    const from = rpc.lines.length;
    expect(await rpc.ask({ type: "reload" })).toMatchObject({
      success: true,
      data: { loaded: [{ path: join(project.cwd, "own.ts") }], failed: [], elapsedMs: expect.any(Number) },
    });
    const lines = rpc.lines
      .slice(from)
      .map(({ type, reason, message }) => message ?? [type, reason].join(" ").trim());
    expect(lines).toEqual([
      "session_shutdown reload",
      "session",
      "session_start reload",
      "second reload",
      "response",
    ]);
    const { commands } = (await rpc.ask({ type: "get_commands" })).data as { commands: { name: string }[] };
    expect(commands.map(({ name }) => name)).toEqual(["other"]);
    writeFileSync(join(project.cwd, "own.ts"), "export default () => { throw new Error('broken now'); }");
    expect((await rpc.ask({ type: "reload" })).data).toMatchObject({
      loaded: [],
      failed: [{ error: { message: expect.stringContaining("broken now") } }],
    });
    expect(await rpc.ask({ type: "prompt", message: "hi" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("reload finds what came since, also where there was nothing", async () => {
    const project = agentProject(says("ok"));
    const rpc = new RpcSession(project);
    expect((await rpc.ask({ type: "reload" })).data).toMatchObject({ loaded: [], failed: [] });
    writeFileSync(
      join(project.home, "settings.json"),
      JSON.stringify({ extensions: [join(project.cwd, "new.ts")] }),
    );
    writeFileSync(
      join(project.cwd, "new.ts"),
      `export default (bonsai) => { bonsai.on("session_start", ({ reason }, ctx) => ctx.ui.notify("new " + reason)); }`,
    );
    expect((await rpc.ask({ type: "reload" })).data).toMatchObject({ loaded: [{ origin: "settings" }] });
    expect(rpc.lines.find(({ message }) => message === "new reload")).toBeDefined();
    await rpc.end();
  });

  test("extensions of a project that is trusted no more are gone at a reload, which tells it", async () => {
    const project = agentProject(says("ok"));
    const folder = join(project.cwd, ".bonsai", "extensions");
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, "ours.ts"),
      `export default (bonsai) => bonsai.registerCommand("ours", { handler() {} })`,
    );
    await runCli(["trust"], project);
    const rpc = new RpcSession(project);
    expect((await rpc.ask({ type: "get_extensions" })).data).toMatchObject({
      loaded: [{ origin: "project" }],
    });
    rmSync(join(project.home, "trust.json"));
    expect((await rpc.ask({ type: "reload" })).data).toMatchObject({ loaded: [], failed: [] });
    expect(rpc.lines.find(({ type }) => type === "notice")).toMatchObject({ code: "project_not_trusted" });
    expect((await rpc.ask({ type: "get_commands" })).data).toEqual({ commands: [] });
    expect(await rpc.end()).toMatchObject({ stderr: "" });
  });

  test("settings that became unreadable are told of at a reload, which goes by those from before", async () => {
    const rpc = rpcWith(does(""));
    await rpc.ask({ type: "get_state" });
    const { home } = rpc.project;
    writeFileSync(join(home, "settings.json"), "{");
    expect((await rpc.ask({ type: "reload" })).data).toMatchObject({ loaded: [{ origin: "flag" }] });
    expect(rpc.lines.find(({ type }) => type === "notice")).toMatchObject({ code: "settings_unreadable" });
    await rpc.end();
  });

  test("tools and handlers go along into the next session", async () => {
    const more = `
      bonsai.on("session_start", (event, ctx) => { ctx.ui.notify("in " + event.reason + " " + ctx.sessionManager.getSessionId()); });
      bonsai.registerTool({ name: "dice", description: "throws", parameters: { type: "object" },
        execute: async () => ({ content: [{ type: "text", text: "six" }] }) });`;
    const play = { contextWindow: 100_000, turn: [{ calls: [{ name: "dice" }] }, { text: "done" }] };
    const rpc = rpcWith(does("", more, play as never));
    const { sessionId } = (await rpc.ask({ type: "new_session" })).data as { sessionId: string };
    expect(rpc.lines.find(({ message }) => message === `in new ${sessionId}`)).toBeDefined();
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isEnd);
    const { messages } = (await rpc.ask({ type: "get_messages" })).data as { messages: object[] };
    expect(JSON.stringify(messages)).toContain("six");
    await rpc.end();
  });

  test("a command goes to new sessions, copies, other sessions and other places", async () => {
    const rpc = rpcWith(
      does(`
        const ids = () => ctx.sessionManager.getEntries().map(({ id }) => id);
        const [first] = ctx.sessionManager.getEntries().filter(({ type, message }) => type === "message" && message.role === "user");
        if (args === "new") told(await ctx.newSession({ parentSession: ctx.sessionManager.getSessionFile() }));
        if (args === "before") told([await ctx.fork(first.id), ids().includes(first.id)]);
        if (args === "at") told([await ctx.fork(first.id, { position: "at" }), ids().includes(first.id)]);
        if (args.startsWith("to ")) told(await ctx.switchSession(args.slice(3)));
        if (args === "tree") told([await ctx.navigateTree(first.id), ctx.sessionManager.getLeafId()]);`),
    );
    const run = async (args: string) => {
      const from = rpc.lines.length;
      expect(await rpc.ask({ type: "prompt", message: `/do ${args}` })).toMatchObject({ success: true });
      return told(rpc, from);
    };
    const state = async () =>
      (await rpc.ask({ type: "get_state" })).data as { sessionId: string; sessionFile: string };
    await rpc.ask({ type: "prompt", message: "hi" });
    await rpc.wait(isEnd);
    const origin = await state();
    const from = rpc.lines.length;
    expect(await run("at")).toEqual([{ cancelled: false }, true]);
    const { sessionFile: copy } = await state();
    expect(rpc.lines.find(({ type }) => type === "session_shutdown")).toMatchObject({
      reason: "fork",
      targetSessionFile: copy,
    });
    expect(rpc.lines.slice(from).find(({ type }) => type === "session_start")).toMatchObject({
      reason: "fork",
      previousSessionFile: origin.sessionFile,
    });
    expect((await state()).sessionId).not.toBe(origin.sessionId);
    expect(await run(`to ${origin.sessionFile}`)).toEqual({ cancelled: false });
    expect((await state()).sessionId).toBe(origin.sessionId);
    expect(await run("before")).toEqual([{ cancelled: false }, false]);
    await run(`to ${origin.sessionId}`);
    expect(await run("tree")).toMatchObject([{ cancelled: false }, expect.anything()]);
    expect(await run("new")).toEqual({ cancelled: false });
    const fresh = await state();
    const kept = rpc.lines.length;
    await rpc.ask({ type: "prompt", message: "kept" });
    await rpc.wait(isEnd, kept);
    await rpc.end();
    expect(openSession(fresh.sessionFile).header.parentSession).toBe(origin.sessionFile);
  });

  test("an extension that asks for the end is obeyed once the work has ended", async () => {
    const rpc = rpcWith(does(`bonsai.sendUserMessage("last words"); ctx.shutdown();`));
    rpc.send({ type: "prompt", message: "/do" });
    expect((await rpc.ended).code).toBe(0);
    expect(rpc.lines.find(isEnd)).toMatchObject({ result: { status: "done" } });
    expect(rpc.lines.at(-1)).toMatchObject({ type: "session_shutdown", reason: "quit" });
  });

  test("a command that never ends does not outlive shutdown", async () => {
    const rpc = rpcWith(does(`await new Promise(() => {});`));
    rpc.send({ type: "prompt", message: "/do" });
    expect(await rpc.ask({ type: "get_commands" })).toMatchObject({ success: true });
    rpc.send({ type: "shutdown" });
    expect((await rpc.ended).code).toBe(0);
  });
});
