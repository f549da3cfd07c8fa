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
