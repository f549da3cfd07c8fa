import { expect, test } from "vitest";
import { z } from "zod";
import { openTestSession } from "../src/testing/index.ts";

test("an extension's tool is called by the model, and its handlers hear of the run", async () => {
  const heard: string[] = [];
  const session = await openTestSession({
    extensions(bonsai) {
      bonsai.on("session_start", (event) => void heard.push(event.reason));
      bonsai.on("agent_end", (event) => void heard.push(event.result.status));
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
  expect(heard).toEqual(["startup", "done"]);
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
