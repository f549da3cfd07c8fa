import { join } from "node:path";
import { hostModules } from "@bonsai-agent/extension/host";
import { openTestSession } from "@bonsai-agent/extension/testing";
import { expect, test } from "vitest";
import { examplesFolder } from "./run-example.ts";

test("10 keeps every request, in one list, through two compactions", async () => {
  const request = (day: number) => ({
    role: "user" as const,
    content: `Mend test ${day}.\n${"ok 1 - it works\n".repeat(1_000)}`,
    timestamp: day,
  });
  const { agent, session, notices, close } = await openTestSession({
    extensions: join(examplesFolder, "10-my-summary.ts"),
    modules: hostModules(),
    history: [1, 2, 3].map(request),
    settings: { compaction: { keepRecentTokens: 4_000 } },
  });
  await agent.compact();
  session.append([4, 5].map((day) => ({ type: "message", message: request(day) })));
  await agent.compact();
  const summary = session.projection().compaction!.summary;
  expect(summary.match(/^The user asked for:$/gm)).toHaveLength(1);
  expect(summary.match(/^- .*$/gm)).toEqual([1, 2, 3, 4].map((day) => `- Mend test ${day}.`));
  expect(notices).toEqual([]);
  await close();
});
