import type { Entry } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, navigateTree, type Summariser, summariseEntries } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { withoutIds } from "./extension-summary.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({}, { estimator: "chars4" });
const past = "U:10 A:10 | U:20 A(t1=edit:a.ts):30 T1:9 A:9";

async function left(summariser: Summariser, handler?: (entries: readonly Entry[]) => Promise<object>) {
  const { session, id } = history(past);
  const lifecycle = compactionLifecycle();
  if (handler !== undefined)
    lifecycle.on("session_before_tree", async ({ preparation }) => handler(preparation.entriesToSummarize));
  const targetId = id("a1");
  const { summaryEntry } = await navigateTree({
    session,
    targetId,
    settings,
    summariser,
    summarise: true,
    lifecycle,
  });
  return withoutIds(summaryEntry!, session);
}

test("a branch summary by the same summariser is the default's", async () => {
  const usual = await left(scriptedSummariser());
  const own = await left(scriptedSummariser([new Error("not asked")]), async (entries) => ({
    summary: await summariseEntries({ entries, summariser: scriptedSummariser() }),
  }));
  expect(own).toMatchObject({ summary: usual.summary, details: usual.details, usage: usual.usage });
  expect(own).toMatchObject({ fromHook: true, details: { modifiedFiles: ["a.ts"] } });
});

test("instructions are added, or take the place of ours", async () => {
  const { session } = history(past);
  const added = scriptedSummariser();
  await summariseEntries({ entries: session.path(), summariser: added, customInstructions: "the door" });
  expect(added.requests[0]?.prompt.user).toContain("the door");
  expect(added.requests[0]?.prompt.user).toContain("## Goal");
  const own = scriptedSummariser([{ text: "A log of decisions." }]);
  const { summary } = await summariseEntries({
    entries: session.path(),
    summariser: own,
    customInstructions: "Log decisions.",
    replaceInstructions: true,
  });
  expect(own.requests[0]?.prompt.user).not.toContain("## Goal");
  expect(summary).toContain("A log of decisions.");
});

test("entries of one's own choice are summarised too", async () => {
  const { session } = history(past);
  const summariser = scriptedSummariser();
  const entries = session.path().filter((entry) => entry.type === "message" && entry.message.role === "user");
  const { details } = await summariseEntries({ entries, summariser });
  expect(summariser.requests[0]?.messages).toHaveLength(2);
  expect(details).toMatchObject({ modifiedFiles: [] });
});

test("a failure, an abort, and nothing that was seen are errors", async () => {
  const { session } = history(past);
  const entries = session.path();
  const failing = scriptedSummariser([new Error("no key")]);
  await expect(summariseEntries({ entries, summariser: failing })).rejects.toMatchObject({
    code: "branch_summary_failed",
    message: expect.stringContaining("no key"),
  });
  const signal = AbortSignal.abort(new Error("enough"));
  const stopped = summariseEntries({ entries, summariser: scriptedSummariser(), signal });
  await expect(stopped).rejects.toThrow("enough");
  const nothing = summariseEntries({
    entries: history("m k p").session.path(),
    summariser: scriptedSummariser(),
  });
  await expect(nothing).rejects.toMatchObject({ code: "branch_summary_failed" });
});
