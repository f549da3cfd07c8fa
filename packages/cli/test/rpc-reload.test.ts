import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentProject, says } from "./agent-project.ts";
import { does, rpcWith } from "./rpc-extension.ts";
import { RpcSession } from "./rpc-session.ts";
import { runCli } from "./run-cli.ts";

describe("reload over RPC", () => {
  test("reload loads the files on disk and emits session_shutdown and session_start", async () => {
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
      "resources_discover reload",
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

  test("reload finds new extensions", async () => {
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

  test("extensions of a project that is trusted no more are gone at a reload, with a notice", async () => {
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

  test("a reload reports unreadable settings and keeps the former ones", async () => {
    const rpc = rpcWith(does(""));
    await rpc.ask({ type: "get_state" });
    const { home } = rpc.project;
    writeFileSync(join(home, "settings.json"), "{");
    expect((await rpc.ask({ type: "reload" })).data).toMatchObject({ loaded: [{ origin: "flag" }] });
    expect(rpc.lines.find(({ type }) => type === "notice")).toMatchObject({ code: "settings_unreadable" });
    await rpc.end();
  });
});
