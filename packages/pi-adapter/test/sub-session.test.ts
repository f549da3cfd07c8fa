import { existsSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { closeSessions, openPiSession } from "./open-pi-session.ts";

afterEach(closeSessions);

test("createAgentSession runs a sub-agent in the process of its extension", async () => {
  const session = await openPiSession("sub-session", {
    answers: [
      { calls: [{ name: "ask_child", arguments: { task: "Say it." } }] },
      { calls: [{ name: "echo", arguments: { text: "said" } }] },
      "The child is done.",
      "The parent is done.",
    ],
  });
  await session.prompt("Go.");
  expect(session.notices).toEqual([]);
  const { messages } = session.requests.at(-1)!;
  const result = messages.at(-1) as { details: Record<string, unknown>; content: unknown };
  expect(result.content).toEqual([{ type: "text", text: "The child is done." }]);
  const entry = session.session
    .entries()
    .find((each) => each.type === "message" && each.message.role === "toolResult");
  const { details } = (entry as unknown as { message: { details: Record<string, unknown> } }).message;
  expect(details).toMatchObject({
    seen: [
      ...["start", "agent_start", "tool_execution_start", "call echo", "tool_execution_end", "agent_end"],
      ...["agent_settled", "shutdown"],
    ],
    tools: ["echo"],
    level: "high",
    roles: ["user", "assistant", "toolResult", "assistant"],
    isChild: true,
  });
  expect(existsSync(String(details.sessionFile))).toBe(true);
  expect(details.kept).toBeGreaterThan(3);
  const [, child] = session.requests;
  expect(child!.tools.map(({ name }) => name)).toEqual(["echo"]);
  expect(child!.messages).toHaveLength(1);
});
