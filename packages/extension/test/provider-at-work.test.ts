import { type AssistantMessage, emptyUsage } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import type { ProviderStreamRequest } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";

test("an agent works on a provider of an extension's own, tools and all, until the extension is gone", async () => {
  const asked: ProviderStreamRequest[] = [];
  const session = await openTestSession({
    extensions(bonsai) {
      bonsai.registerProvider("mine", {
        models: [{ id: "m", contextWindow: 50_000 }],
        async stream(request) {
          asked.push(request);
          return said(request.messages.at(-1)?.role === "toolResult" ? "An empty folder." : undefined);
        },
      });
      bonsai.registerCommand("mine", {
        async handler(_args, ctx) {
          await bonsai.setModel(ctx.modelRegistry.find("mine", "m")!);
        },
      });
    },
  });
  await session.command("/mine");
  const { status, answer } = await session.prompt("What is here?");
  expect(status).toBe("done");
  expect(answer).toMatchObject({
    provider: "mine",
    model: "m",
    content: [{ type: "text", text: "An empty folder." }],
  });
  expect(asked[0]?.systemPrompt).toContain("You are Bonsai");
  expect(asked[0]?.tools.map(({ name }) => name)).toContain("ls");
  expect(asked[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult"]);
  expect(session.agent.model.provider).toBe("mine");
  session.extensions.unload();
  expect(await session.prompt("And now?")).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("Cannot use mine") },
  });
  await session.close();
});

/** An answer; without a text, one that calls `ls`. */
function said(text: string | undefined): AssistantMessage {
  const call = { type: "toolCall" as const, id: "c1", name: "ls", arguments: {} };
  return {
    role: "assistant",
    content: text === undefined ? [call] : [{ type: "text", text }],
    api: "mine",
    provider: "mine",
    model: "m",
    usage: { ...emptyUsage(), input: 100, output: 5, totalTokens: 105 },
    stopReason: text === undefined ? "toolUse" : "stop",
    timestamp: 0,
  };
}
