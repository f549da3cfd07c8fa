import { createSession } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const RULES = Array.from({ length: 120 }, (_, at) => `Dla pola f_${at} ustaw granicę ${at * 13 + 100}.`);

test.each([
  ["a digest", () => undefined],
  ["a model's summary", () => scriptedSummariser()],
])("%s: compactions of short spans do not wear the user's words away", async (_, summariserOf) => {
  const session = createSession({ cwd: "/project" });
  for (const content of RULES) {
    session.append({ type: "message", message: { role: "user", content, timestamp: 1 } });
    history("A:200", session);
  }
  for (let compaction = 0; compaction < 6; compaction += 1) {
    history("U:40 A:700 U:40 A:700", session);
    const { status } = await runCompaction({
      session,
      model: { contextWindow: 200_000 },
      settings: compactionSettings({ keepRecentTokens: 600 }),
      reason: "manual",
      summariser: summariserOf(),
    });
    expect(status).toBe("compacted");
    const { summary } = session.projection().compaction!;
    expect(RULES.filter((rule) => !summary.includes(rule))).toEqual([]);
  }
});

test("a program's text is carried neither as the user's words nor as the latest request, unless it was typed here", async () => {
  const notification = "<agent-notification>\nAgent 7 has finished.\n</agent-notification>";
  const summaryOf = async (more: object) => {
    const { session } = history("U:2000 A:4000");
    session.append({
      type: "message",
      message: { role: "user", content: notification, timestamp: 0, ...more },
    });
    history("A:4000", session);
    const keeping = compactionSettings({ keepRecentTokens: 0 });
    return (await runCompaction({ session, settings: keeping })).summary;
  };
  expect(await summaryOf({})).not.toMatch(/<latest-request>\n[^\n]*\n[^\n]*agent-notification/);
  expect(await summaryOf({ typed: notification })).toMatch(
    /<latest-request>\n[^\n]*\n[^\n]*agent-notification/,
  );
});
