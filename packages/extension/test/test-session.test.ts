import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { openTestSession } from "../src/testing/index.ts";

test("an extension's tool is called by the model, and its handlers are called", async () => {
  const seen: string[] = [];
  const session = await openTestSession({
    extensions(bonsai) {
      bonsai.on("session_start", (event) => void seen.push(event.reason));
      bonsai.on("agent_end", (event) => void seen.push(event.result.status));
      bonsai.registerTool({
        name: "add",
        description: "Adds two numbers.",
        parameters: z.object({ a: z.number(), b: z.number() }),
        execute: async (_id, { a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
      });
    },
    answers: [{ calls: [{ name: "add", arguments: { a: 2, b: 3 } }] }, "It is 5."],
  });
  const { status, answer } = await session.prompt("What is 2 + 3?");
  expect(status).toBe("done");
  expect(answer?.content).toMatchObject([{ type: "text", text: "It is 5." }]);
  expect(session.requests.at(-1)?.messages.at(-1)).toMatchObject({
    role: "toolResult",
    content: [{ type: "text", text: "5" }],
  });
  expect(seen).toEqual(["startup", "done"]);
  expect(session.notices).toEqual([]);
  await session.close();
});

test("a command asks the user through ctx.ui", async () => {
  const session = await openTestSession({
    extensions(bonsai) {
      bonsai.registerCommand("hello", {
        description: "Greets",
        async handler(args, ctx) {
          if (await ctx.ui.confirm("Greet?", args)) ctx.ui.notify(`Hello ${args}`);
        },
      });
    },
    ui: { confirm: true },
  });
  await session.command("/hello  world ");
  expect(session.ui).toEqual([
    { method: "confirm", args: ["Greet?", "world"] },
    { method: "notify", args: ["Hello world"] },
  ]);
  await expect(session.command("/bye")).rejects.toMatchObject({ code: "extension_command_unknown" });
  await session.close();
});

test("a missing answer in the script is an error that says so", async () => {
  await using session = await openTestSession({ answers: ["One."] });
  expect(await session.prompt("1")).toMatchObject({ status: "done" });
  const { status, error } = await session.prompt("2");
  expect(status).toBe("failed");
  expect(error?.message).toContain("The script has no answer to turn request number 2.");
});

test("summaries, requests of extensions and other models follow the script", async () => {
  await using session = await openTestSession({
    extensions: (bonsai) =>
      void bonsai.registerCommand("ask", {
        async handler(args, { ui, modelRegistry }) {
          const model = modelRegistry.find("scripted", "small")!;
          const { content } = await modelRegistry.complete(model, {
            messages: [{ role: "user", content: args, timestamp: 0 }],
          });
          ui.notify(JSON.stringify(content));
        },
      }),
    otherModels: [{ id: "small", contextWindow: 8_000 }],
    answers: () => "Word ".repeat(200),
    replies: [({ messages }) => `You said ${JSON.stringify(messages.at(-1)?.role)}.`],
    settings: { compaction: { keepRecentTokens: 1 } },
    ui: {},
  });
  await session.command("/ask What?");
  expect(String(session.ui[0]?.args[0])).toContain("You said");
  await session.prompt("1");
  await session.prompt("2");
  expect(await session.agent.compact()).toMatchObject({ status: "compacted" });
  const asked = new Set(session.requests.map(({ purpose, model }) => `${purpose} ${model.id}`));
  expect([...asked]).toEqual(["extension small", "turn test", "summary test"]);
});

test("dialogs are answered in order, by a function, or cancelled", async () => {
  const said: unknown[] = [];
  await using session = await openTestSession({
    extensions: (bonsai) =>
      void bonsai.registerCommand("ask", {
        async handler(_args, { ui, hasUI, mode }) {
          said.push(hasUI, mode, await ui.select("Which?", ["a", "b"]), await ui.select("And?", ["c"]));
          said.push(
            await ui.confirm("Sure?", "Really"),
            await ui.input("Name?"),
            await ui.editor("Text?", "x"),
          );
          ui.setEditorText("typed");
          said.push(ui.getEditorText());
          await ui.select("Once more?", []);
        },
      }),
    ui: { select: ["b", undefined], editor: (_title, prefill) => `${prefill}y` },
  });
  await expect(session.command("/ask")).rejects.toThrow(
    "The script has no answer to call number 3 of select.",
  );
  expect(said).toEqual([true, "rpc", "b", undefined, false, undefined, "xy", "typed"]);
});

test("a session can start with a history, and be closed twice", async () => {
  const session = await openTestSession({
    history: [{ role: "user", content: "Before.", timestamp: 0 }],
    answers: ["After."],
  });
  await session.prompt("Now.");
  expect(session.requests[0]?.messages).toMatchObject([{ content: "Before." }, { content: "Now." }]);
  expect(existsSync(session.cwd)).toBe(true);
  await session.close();
  await session.close();
  expect(existsSync(session.cwd)).toBe(false);
});

test("without an agent, its use is an error", async () => {
  const seen: string[] = [];
  await using session = await openTestSession({
    withAgent: false,
    extensions: (bonsai) => void bonsai.on("session_start", ({ reason }) => void seen.push(reason)),
  });
  expect(seen).toEqual(["startup"]);
  expect(() => session.agent).toThrow("has no agent");
  await expect(session.prompt("Hello")).rejects.toMatchObject({ code: "extension_needs_agent" });
});
