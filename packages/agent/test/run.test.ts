import { type CatalogueModel, ModelClient, type ScriptedModel, scriptedProvider } from "@bonsai-agent/models";
import { createSession, type Session } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { z } from "zod";
import { Agent } from "../src/agent.ts";
import { agentSettings } from "../src/settings.ts";
import { defineTool } from "../src/tool.ts";

const model: CatalogueModel = {
  provider: "scripted",
  id: "actor",
  name: "Actor",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 20_000,
  maxOutputTokens: 2_000,
};

const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  parameters: z.object({ text: z.string() }),
  execute: async ({ input }) => ({ content: [{ type: "text", text: input.text }] }),
});

function agentWith(play: ScriptedModel): { agent: Agent; session: Session } {
  const session = createSession({ cwd: "/project" });
  const agent = new Agent({
    session,
    models: new ModelClient({ providers: { scripted: async () => scriptedProvider(play) } }),
    model,
    systemPrompt: "You are a test.",
    tools: [echo],
    settings: agentSettings({ titles: false }),
  });
  return { agent, session };
}

test("a call is run and its result goes back to the model", async () => {
  const seen: number[] = [];
  const { agent, session } = agentWith(({ messages }) => {
    seen.push(messages.length);
    return messages.length === 1
      ? { calls: [{ name: "echo", arguments: { text: "hi" } }] }
      : { text: "done" };
  });
  const result = await agent.prompt("say hi");
  expect(result.status).toBe("done");
  expect(seen).toEqual([1, 3]);
  const roles = session.projection().items.map(({ message }) => message.role);
  expect(roles).toEqual(["user", "assistant", "toolResult", "assistant"]);
});

test("an overflow is recovered from inside the same prompt", async () => {
  let refused = 0;
  const { agent, session } = agentWith(({ purpose, messages }) => {
    if (purpose === "summary") return { error: { status: 500, message: "no" } };
    if (messages.length > 6 && refused++ === 0)
      return { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };
    return { text: "fine. ".repeat(400) };
  });
  for (const text of ["one", "two", "three"]) expect((await agent.prompt(text)).status).toBe("done");
  const result = await agent.prompt("four");
  expect(result.status).toBe("done");
  expect(refused).toBe(1);
  expect(session.projection().compaction).toBeDefined();
});
