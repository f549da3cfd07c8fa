import { join } from "node:path";
import { openSession } from "@bonsai-agent/session";
import { describe, expect, test } from "vitest";
import { does, rpcWith, told } from "./rpc-extension.ts";
import { isEnd } from "./rpc-session.ts";

describe("extensions over RPC", () => {
  test("get_commands and get_extensions list them", async () => {
    const project = does("", `bonsai.registerFlag("plan", { type: "boolean", default: false });`);
    const rpc = rpcWith(project, ["--plan"]);
    const path = join(project.cwd, "own.ts");
    expect((await rpc.ask({ type: "get_commands" })).data).toEqual({
      commands: [
        {
          name: "do",
          description: "does it",
          source: "extension",
          sourceInfo: expect.objectContaining({ path }),
        },
      ],
    });
    expect((await rpc.ask({ type: "get_extensions" })).data).toEqual({
      loaded: [{ path, origin: "flag", loadMs: expect.any(Number) }],
      failed: [],
      flags: [{ name: "plan", type: "boolean", default: false }],
    });
    await rpc.end();
  });

  test("an unknown flag ends the program before RPC begins", async () => {
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
      code: "extension_command_failed",
      error: expect.stringContaining("not today"),
    });
    expect(await rpc.ask({ type: "prompt", message: "hi" })).toMatchObject({ success: true });
    await rpc.end();
  });

  test("the work that a command gives the agent is reported, and waited for at the end of the input", async () => {
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
        code: "rpc_command_invalid",
      });
    await rpc.ask({ type: "abort" });
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

  test("an extension that asks for the end ends the program once the work has ended", async () => {
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
