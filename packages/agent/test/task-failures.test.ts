import { callsIn, contentText } from "@bonsai-agent/messages";
import { openSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../src/agent.ts";
import { defineTool } from "../src/tools/tool-registry.ts";
import { delegating, detailsOf, parentWith, type ScriptedModel, taskResults } from "./parent-with-task.ts";

test("over the threshold nothing is compacted in a sub-agent; an overflow in it still recovers", async () => {
  let refused = 0;
  const { agent, session } = parentWith(
    delegating(({ purpose, messages }) => {
      if (purpose === "summary") return { error: { status: 401, message: "no key" } };
      const done = messages.filter(({ role }) => role === "toolResult").length;
      if (refused > 0) return { text: "Found it." };
      if (done >= 6) {
        refused += 1;
        return { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };
      }
      return { text: "word ".repeat(2_500), calls: [{ name: "read", arguments: { path: `f${done}.ts` } }] };
    }),
  );
  await agent.prompt("go");
  const [result] = taskResults(session);
  expect(contentText(result?.content)).toBe("Found it.");
  expect(refused).toBe(1);
  const own = openSession(detailsOf(session).sessionFile!).entries();
  const compactions = own.filter(({ type }) => type === "compaction");
  expect(compactions).toHaveLength(1);
  expect(compactions[0]).toMatchObject({ details: { manifest: { reason: "overflow" } } });
  // Files read before the compaction are listed, too.
  expect(detailsOf(session).readFiles).toEqual(["f0.ts", "f1.ts", "f2.ts", "f3.ts", "f4.ts", "f5.ts"]);
});

test("a failure gives the parent the causes, and what was modified until then", async () => {
  const { agent, session } = parentWith(
    delegating(({ messages }) =>
      messages.length === 1
        ? { calls: [{ name: "write", arguments: { path: "c.ts", content: "x" } }] }
        : { error: { status: 401, message: "the key was revoked" } },
    ),
  );
  expect((await agent.prompt("go")).status).toBe("done");
  const [result] = taskResults(session);
  expect(result?.isError).toBe(true);
  expect(contentText(result?.content)).toMatch(/failed.*the key was revoked.*changed these files: c\.ts/);
  expect(result?.details).toMatchObject({ modifiedFiles: ["c.ts"], turns: 2 });
});

test("an overflow that compaction does not end gives the parent both causes", async () => {
  const { agent, session } = parentWith(
    delegating(({ purpose, messages }) => {
      if (purpose === "summary") return { error: { status: 401, message: "the summariser has no key" } };
      const done = messages.filter(({ role }) => role === "toolResult").length;
      if (done >= 4)
        return { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };
      return { text: "word ".repeat(2_500), calls: [{ name: "read", arguments: { path: `f${done}.ts` } }] };
    }),
    { compaction: { summarizer: { fallback: "never" } } },
  );
  expect((await agent.prompt("go")).status).toBe("done");
  const [result] = taskResults(session);
  expect(result?.isError).toBe(true);
  expect(contentText(result?.content)).toMatch(/the summariser has no key[\s\S]*prompt is too long/);
});

test("an empty answer of a sub-agent is a failure", async () => {
  const { agent, session } = parentWith(delegating(() => ({ text: "" })));
  await agent.prompt("go");
  expect(taskResults(session)[0]).toMatchObject({ isError: true });
  expect(contentText(taskResults(session)[0]?.content)).toContain("gave no answer");
});

test("stopping the parent stops its sub-agents, and leaves a result for each call", async () => {
  let agent: Agent | undefined;
  const stop = defineTool({
    name: "stop",
    description: "Stops the parent.",
    parameters: z.object({}),
    execute: async ({ signal }) => {
      void agent?.abort();
      await Promise.resolve();
      expect(signal.aborted).toBe(true);
      return { content: [{ type: "text", text: "stopped" }] };
    },
  });
  const parent = parentWith(
    delegating(() => ({ calls: [{ name: "stop", arguments: {} }] })),
    { tools: [stop] },
  );
  agent = parent.agent;
  expect((await agent.prompt("go")).status).toBe("aborted");
  const [result] = taskResults(parent.session);
  expect(result?.isError).toBe(true);
  expect(contentText(result?.content)).toMatch(/stopped/i);
  const answered = new Set(taskResults(parent.session).map(({ toolCallId }) => toolCallId));
  const entries = parent.session.entries();
  const asked = entries.flatMap((entry) => (entry.type === "message" ? callsIn(entry.message) : []));
  expect(asked.every(({ id }) => answered.has(id))).toBe(true);
});

test.each<[string, ScriptedModel, RegExp]>([
  [
    "makes requests without end",
    () => ({ calls: [{ name: "read", arguments: { path: "a.ts" } }] }),
    /^The sub-agent failed. The agent stopped after 3 requests without your input/,
  ],
  [
    "thinks and says nothing",
    () => ({ thinking: "Hm." }),
    /^The sub-agent failed. scripted\/actor gave no answer/,
  ],
])("the result of a sub-agent that %s says so to its parent", async (_name, sub, told) => {
  const { agent, session } = parentWith(delegating(sub), { limits: { runRequests: 3 } });
  expect((await agent.prompt("go")).status).toBe("done");
  const [result] = taskResults(session);
  expect(result).toMatchObject({ isError: true });
  expect(contentText(result!.content)).toMatch(told);
});
