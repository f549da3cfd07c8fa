import { compactionSettings, digestSummariser, runCompaction } from "@bonsai-agent/compaction";
import { emptyUsage } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { entryBody } from "../src/bodies.ts";
import type { SummaryBody } from "../src/page-data.ts";
import { SessionPage } from "../src/session-page.ts";

const settings = compactionSettings(
  { keepRecentTokens: 200, mask: { enabled: false } },
  { estimator: "chars4" },
);

/** The latest summary of a session, opened. */
function opened(session: Session): SummaryBody {
  const page = new SessionPage(session);
  const bodies = page.data().chunks.flatMap((place) => page.bodies(place));
  return bodies.findLast(({ summary }) => summary !== undefined)!.summary!;
}

test("a compaction without masked results does not mention masks", async () => {
  const { session } = history("U:300 A:400 | U:300 A:150");
  await runCompaction({ session, settings, summariser: digestSummariser() });
  expect(opened(session).facts.map(([name]) => name)).not.toContain("Masked");
});

test("an undone compaction shows a sentence instead of its entry type", () => {
  const { session } = history("U:300 A:400 | U:300 A:150");
  const data = { compactionId: "a1b2c3d4" };
  const undo = session.append({ type: "custom", customType: "bonsai.undo", data });
  expect(entryBody(undo, () => undefined).parts).toEqual([
    { type: "text", text: "Undo of compaction a1b2c3d4." },
  ]);
});

test("a summary with uncounted requests has an unknown cost", async () => {
  const { session } = history("U:300 A:400 | U:300 A:150");
  await runCompaction({
    session,
    settings,
    summariser: {
      name: "uncounted",
      async summarise() {
        const text = "## Goal\nFind the fault.";
        return { text, stopReason: "stop", usage: { ...emptyUsage(), isUncounted: true } };
      },
    },
  });
  expect(opened(session).facts).toContainEqual(["Cost", "unknown"]);
});
