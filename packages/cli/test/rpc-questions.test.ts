import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { agentProject, says } from "./agent-project.ts";
import { does, rpcWith, told } from "./rpc-extension.ts";
import { isEnd, type RpcLine, RpcSession } from "./rpc-session.ts";

const isQuestion = ({ type, method }: RpcLine): boolean =>
  type === "extension_ui_request" && ["select", "confirm", "input", "editor"].includes(method as string);

describe("questions over RPC", () => {
  test("a question reaches the client, and the answer reaches the extension", () =>
    everyRow([
      [
        `ctx.ui.select("Which?", ["red", "green"])`,
        { method: "select", title: "Which?", options: ["red", "green"] },
        { value: "green" },
        "green",
      ],
      [`ctx.ui.select("Which?", ["red"])`, { method: "select" }, { value: "blue" }, null],
      [
        `ctx.ui.select("Which?", ["red"], { timeout: 60000 })`,
        { timeout: 60_000 },
        { cancelled: true },
        null,
      ],
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
    ])(async ([expression, request, answer, value]) => {
      const rpc = rpcWith(does(`told(await ${expression});`));
      rpc.send({ id: 1, type: "prompt", message: "/do" });
      const question = await rpc.wait(isQuestion);
      expect(question).toMatchObject({ type: "extension_ui_request", id: expect.any(String), ...request });
      rpc.send({ type: "extension_ui_response", id: question.id, ...answer });
      expect(await told(rpc)).toEqual(value);
      expect(await rpc.wait(({ id }) => id === 1)).toMatchObject({ success: true, data: { queued: false } });
      expect(await rpc.end()).toMatchObject({ code: 0, stderr: "" });
    }));

  test("shown texts of an extension are sent without waiting", async () => {
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
      code: "rpc_command_invalid",
    });
    expect(await rpc.ask({ type: "get_state" })).toMatchObject({ success: true });
    expect(rpc.lines.filter(({ command }) => command === "extension_ui_response")).toHaveLength(1);
    await rpc.end();
  });

  test("the extension's own signal ends a question", async () => {
    const rpc = rpcWith(
      does(
        `const stop = new AbortController(); const asked = ctx.ui.input("?", "", { signal: stop.signal }); stop.abort(); told(await asked);`,
      ),
    );
    rpc.send({ type: "prompt", message: "/do" });
    expect(await told(rpc)).toBe(null);
    await rpc.end();
  });

  test("each end of the program answers open questions without the user", () =>
    everyRow(["input", "shutdown", "signal"])(async (how) => {
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
    }));

  test("a question of a running command is answered at once; the next commands wait", async () => {
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

  test("abort is carried out while an extension holds a command", () =>
    everyRow([
      { type: "new_session", waits: `ctx.ui.confirm("Leave?", "")` },
      { type: "fork", waits: `ctx.ui.confirm("Leave?", "")` },
      { type: "new_session", waits: "new Promise(() => {})" },
    ])(async ({ type, waits }) => {
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
      rpc.send({ id: 1, type, ...(type === "fork" ? { entryId: leafId, position: "at" } : {}) });
      await rpc.wait(({ method }) => method === "setTitle");
      expect(await rpc.ask({ type: "abort" })).toMatchObject({ success: true });
      expect(await rpc.wait(({ id }) => id === 1)).toMatchObject({ data: { cancelled: true, sessionId } });
      expect(await rpc.ask({ type: "prompt", message: "still here" })).toMatchObject({ success: true });
      expect(await rpc.end()).toMatchObject({ code: 0, stderr: "" });
      expect(rpc.lines.filter(({ command }) => command === "abort")).toHaveLength(1);
    }));

  test("shutdown is carried out during a command that never ends; the commands after it are not begun", async () => {
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

  test("a question that a session's start waits for can be answered", async () => {
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
