import type * as acp from "@agentclientprotocol/sdk";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { AcpClient } from "./acp-client.ts";
import { agentProject } from "./agent-project.ts";
import { does } from "./rpc-extension.ts";

const capabilities = { fs: { readTextFile: true, writeTextFile: true }, terminal: true };

const noAnswer = new Promise<never>(() => {});

/** A project whose model calls the tool once in each prompt. */
function callsOnce(name: string, args: Record<string, unknown>) {
  const turn = [{ calls: [{ name, arguments: args }] }, { text: "Done." }];
  return agentProject({ contextWindow: 100_000, turn, atEnd: "repeat" }, { "a.txt": "a\n" });
}

describe("a client that does not answer", () => {
  test("a cancel ends a read, and cancels the request for the file", async () => {
    const asked = Promise.withResolvers<void>();
    const read = () => {
      asked.resolve();
      return noAnswer;
    };
    const requests = { "fs/read_text_file": read };
    const { client } = await AcpClient.open(callsOnce("read", { path: "a.txt" }), { capabilities, requests });
    const { sessionId } = await client.newSession();
    const running = client.prompt(sessionId, "work");
    await asked.promise;
    await client.agent.notify("session/cancel", { sessionId });
    expect(await running).toEqual({ stopReason: "cancelled" });
    expect(client.lines.join("")).toContain('"$/cancel_request"');
    await client.leave();
  });

  test("a cancelled write leaves the file to the next prompt", async () => {
    const asked = Promise.withResolvers<void>();
    const written: unknown[] = [];
    const write = ({ content }: acp.WriteTextFileRequest) => {
      written.push(content);
      asked.resolve();
      return written.length === 1 ? noAnswer : {};
    };
    const { client } = await AcpClient.open(callsOnce("write", { path: "a.txt", content: "b" }), {
      capabilities: { fs: { writeTextFile: true } },
      requests: { "fs/write_text_file": write },
    });
    const { sessionId } = await client.newSession();
    const running = client.prompt(sessionId, "work");
    await asked.promise;
    await client.agent.notify("session/cancel", { sessionId });
    expect(await running).toEqual({ stopReason: "cancelled" });
    await client.prompt(sessionId, "answer");
    expect(await client.prompt(sessionId, "write again")).toEqual({ stopReason: "end_turn" });
    expect(written).toEqual(["b", "b"]);
    await client.leave();
  });

  test("a cancel and the end of the program do not wait for a terminal", () =>
    everyRow([
      ["terminal/create", "terminal/create"],
      ["terminal/wait_for_exit", "terminal/kill"],
      ["terminal/wait_for_exit", "terminal/output"],
    ] as const)(async ([last, silent]) => {
      const asked = Promise.withResolvers<void>();
      const answers: Record<string, unknown> = {
        "terminal/create": { terminalId: "t1" },
        "terminal/wait_for_exit": noAnswer,
        "terminal/output": { output: "", truncated: false },
        "terminal/kill": {},
        "terminal/release": {},
        [silent]: noAnswer,
      };
      const answerTo = (method: string) => () => {
        if (method === last) asked.resolve();
        return answers[method];
      };
      const requests = Object.fromEntries(Object.keys(answers).map((method) => [method, answerTo(method)]));
      const project = callsOnce("bash", { command: "sleep 100" });
      const { client } = await AcpClient.open(project, { capabilities, requests });
      const { sessionId } = await client.newSession();
      const running = client.prompt(sessionId, "work");
      await asked.promise;
      await client.agent.notify("session/cancel", { sessionId });
      expect(await running).toEqual({ stopReason: "cancelled" });
      await client.agent.request("session/close", { sessionId });
      expect(await client.leave()).toMatchObject({ code: 0, stderr: "" });
    }));

  test("a terminal that appears after the cancel is killed and released", async () => {
    const asked: string[] = [];
    const begun = Promise.withResolvers<void>();
    const created = Promise.withResolvers<object>();
    const released = Promise.withResolvers<void>();
    const note = (name: string, answer: unknown) => () => {
      asked.push(name);
      if (name === "create") begun.resolve();
      if (name === "release") released.resolve();
      return answer;
    };
    const { client } = await AcpClient.open(callsOnce("bash", { command: "sleep 100" }), {
      capabilities,
      requests: {
        "terminal/create": note("create", created.promise),
        "terminal/wait_for_exit": note("wait", noAnswer),
        "terminal/output": note("output", { output: "", truncated: false }),
        "terminal/kill": note("kill", {}),
        "terminal/release": note("release", {}),
      },
    });
    const { sessionId } = await client.newSession();
    const running = client.prompt(sessionId, "work");
    await begun.promise;
    await client.agent.notify("session/cancel", { sessionId });
    expect(await running).toEqual({ stopReason: "cancelled" });
    created.resolve({ terminalId: "t1" });
    await released.promise;
    expect(asked).toEqual(["create", "wait", "kill", "output", "release"]);
    await client.leave();
  });
});

describe("answers to a permission", () => {
  test("an option that was not offered is no answer", () =>
    everyRow([["99"], [""], [" 0"], ["0x0"], ["0.0"], ["length"]] as const)(async ([optionId]) => {
      const { client } = await AcpClient.open(does('told(await ctx.ui.confirm("Sure?", "Really."))'), {
        argv: ["-e", "own.ts"],
        capabilities: { session: { notices: {} } },
        permit: () => optionId,
      });
      const { sessionId } = await client.newSession();
      await client.prompt(sessionId, "/do");
      expect(client.of("notice").map(({ title }) => title)).toEqual(["told false"]);
      await client.leave();
    }));

  test("an answer after the cancel permits nothing", async () => {
    const project = callsOnce("write", { path: "../out.txt", content: "x" });
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<string>();
    const permit = () => {
      asked.resolve();
      return answer.promise;
    };
    const { client } = await AcpClient.open(project, { permit });
    const { sessionId } = await client.newSession();
    const running = client.prompt(sessionId, "work");
    await asked.promise;
    await client.agent.notify("session/cancel", { sessionId });
    expect(await running).toEqual({ stopReason: "cancelled" });
    answer.resolve(client.permissions[0]!.options.find(({ kind }) => kind === "allow_always")!.optionId);
    await client.prompt(sessionId, "answer");
    await client.prompt(sessionId, "again");
    expect(client.permissions).toHaveLength(2);
    await client.leave();
  });
});
