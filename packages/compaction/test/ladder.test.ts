import { type Message, messageText } from "@bonsai-agent/messages";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { runCompaction } from "../src/index.ts";
import { broken, controllerFor, LONG, model, noDigest, settingsFor } from "./ladder-controller.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

test("case 20: overflow twice: one compaction, then an error; a new user message allows recovery again", async () => {
  const summariser = scriptedSummariser();
  const { session, controller } = controllerFor({ summariser });
  expect((await controller.recoverFromOverflow()).status).toBe("compacted");
  // Even where there would be something to compact again.
  history("A(t1):10 T1:50000 A:10", session);
  const again = await controller.recoverFromOverflow();
  expect(again).toMatchObject({ status: "failed", reason: "overflow" });
  expect(again.detail).toMatch(
    /^Context too large\. Compaction failed\. Use \/compact to retry manually\. Cause: the request was still too long/,
  );
  expect(summariser.requests).toHaveLength(1);
  controller.userMessageArrived();
  history("U:30000 A:30000 U:10 A:10", session);
  expect((await controller.recoverFromOverflow()).status).toBe("compacted");
});

test("case 22: a failed threshold compaction warns once, and the task is left alone", async () => {
  const summariser = scriptedSummariser([broken, broken, broken]);
  const { session, controller, warnings } = controllerFor({ summariser, settings: noDigest });
  const before = JSON.stringify(session.entries());
  expect((await controller.checkThreshold({ site: "beforePrompt" })).status).toBe("failed");
  controller.answerArrived();
  expect((await controller.checkThreshold({ site: "betweenTools" })).status).toBe("skipped");
  expect(warnings).toEqual(["compaction_failed"]);
  expect(summariser.requests).toHaveLength(1);
  expect(JSON.stringify(session.entries())).toBe(before);
});

test("case 22: nothing to compact is no failure", async () => {
  const summariser = scriptedSummariser();
  const { session, controller, warnings } = controllerFor({ summariser }, "U:100 A:100@59000");
  expect((await controller.checkThreshold({ site: "beforePrompt" })).status).toBe("skipped");
  expect(warnings).toEqual([]);
  controller.answerArrived();
  history("U:30000 A:30000@59500 U:10 A:10@59600", session);
  expect((await controller.checkThreshold({ site: "betweenTools" })).status).toBe("compacted");
});

test("case 23: overflow and the summariser fails: the digest goes on", async () => {
  const { session } = history(LONG);
  const digest = scriptedSummariser();
  const summariser = scriptedSummariser([new Error("no connection")]);
  const options = {
    session,
    settings: settingsFor(),
    model,
    summariser,
    digest,
    reason: "overflow" as const,
  };
  const result = await runCompaction(options);
  expect(result).toMatchObject({
    status: "compacted",
    rung: "digest",
    failures: [{ rung: "summarise", message: "no connection" }],
  });
});

test("case 23: with the digest switched off, one error names the causes", async () => {
  const { session } = history(LONG);
  const before = JSON.stringify(session.entries());
  const result = await runCompaction({
    session,
    settings: settingsFor({ summarizer: { fallback: "never" }, keepRecentTokens: 100 }),
    model,
    summariser: scriptedSummariser([broken]),
    digest: scriptedSummariser(),
    reason: "overflow",
  });
  expect(result.status).toBe("failed");
  expect(result.error).toMatchObject({ code: "context_too_large" });
  expect(result.error?.message).toMatch(
    /^Context too large\. Compaction failed\. Use \/compact to retry manually\. .*the model is down/,
  );
  expect(JSON.stringify(session.entries())).toBe(before);
});

test.each([
  ["enabled: false, onOverflow: true", { enabled: false, onOverflow: true }, "skipped", "compacted"],
  ["both false", { enabled: false, onOverflow: false }, "skipped", "skipped"],
])("case 24: %s", async (_, input, threshold, overflow) => {
  const { controller } = controllerFor({ settings: settingsFor(input) });
  expect((await controller.checkThreshold({ site: "beforePrompt" })).status).toBe(threshold);
  expect((await controller.recoverFromOverflow()).status).toBe(overflow);
});

test("case 25: an answer without a usable summary makes the next rung run", () =>
  everyRow([
    ["nothing", { text: "  \n" }],
    ["a length stop", { text: "## Goal\nhalf a su", stopReason: "length" as const }],
    ["a tool call", { stopReason: "toolUse" as const }],
    ["an abort", { stopReason: "aborted" as const }],
    ["a refusal", { text: "I'm sorry, but I can't help with that." }],
    ["no sections", { text: "They talked about files and went home." }],
    [
      "far too much",
      {
        text: `## Goal\n## Constraints & Preferences\n## Progress\n## Next Steps\n${"more ".repeat(40_000)}`,
      },
    ],
  ])(async ([, answer]) => {
    const { session } = history(LONG);
    const summariser = scriptedSummariser([answer]);
    const digest = scriptedSummariser();
    const options = {
      session,
      settings: settingsFor(),
      model,
      summariser,
      digest,
      reason: "overflow" as const,
    };
    const result = await runCompaction(options);
    expect(result).toMatchObject({ status: "compacted", rung: "digest" });
    expect(session.entries().filter((entry) => entry.type === "compaction")).toHaveLength(1);
  }));

test("case 25: a manual failure is an error for the user", async () => {
  const { session } = history(LONG);
  const summariser = scriptedSummariser([{ text: "" }]);
  const result = await runCompaction({
    session,
    settings: noDigest,
    model,
    summariser,
    digest: scriptedSummariser(),
  });
  expect(result).toMatchObject({ status: "failed", error: { code: "compaction_failed" } });
  expect(result.error?.message).toContain("The summariser sent an empty answer.");
});

test("case 26: a sub-agent has no threshold, but recovers from an overflow", async () => {
  const { controller } = controllerFor({ isSubAgent: true });
  expect((await controller.checkThreshold({ site: "beforePrompt" })).status).toBe("skipped");
  expect((await controller.recoverFromOverflow()).status).toBe("compacted");
});

test("a summary larger than what it replaces is refused", async () => {
  const { session } = history("U:600 A:600 | U:300 A:300");
  const fat = { text: `${wellFormed({ kind: "history" })}\n${"words ".repeat(1_400)}` };
  const result = await runCompaction({
    session,
    settings: settingsFor({ keepRecentTokens: 600, summarizer: { fallback: "never" } }),
    summariser: scriptedSummariser([fat]),
    digest: scriptedSummariser(),
  });
  expect(result.status).toBe("failed");
  expect(result.error?.message).toMatch(/would not shrink the context: ~[\d,]+ tokens before, ~[\d,]+ after/);
});

test("a summary exactly as large as what it replaces is refused, one token less is taken", async () => {
  const settings = settingsFor({
    keepRecentTokens: 600,
    lossCheck: "off",
    summarizer: { fallback: "never" },
  });
  const compacted = (padding: number) => {
    const { session } = history("U:2500 A:2500 | U:14500 A:300");
    const text = `${wellFormed({ kind: "history" })}${"x".repeat(padding * 4)}`;
    const summariser = scriptedSummariser([{ text }]);
    return runCompaction({
      session,
      settings,
      summariser,
      model: { contextWindow: 20_000 },
      reason: "threshold",
    });
  };
  const { tokensBefore, tokensAfter } = await compacted(0);
  const padding = tokensBefore - tokensAfter;
  expect((await compacted(padding - 1)).status).toBe("compacted");
  expect((await compacted(padding)).error?.message).toContain("would not shrink the context");
});

test("a run leaves room for the latest request by its reason", () =>
  everyRow([
    ["threshold", 10_000],
    ["overflow", 1_000],
  ] as const)(async ([reason, chars]) => {
    const { session, id } = history("U:3000 A:3000 | U:16000");
    const result = await runCompaction({
      session,
      reason,
      settings: settingsFor(),
      model: { contextWindow: 20_000 },
      fixedTexts: () => ["x".repeat(14_500 * 4)],
      summariser: scriptedSummariser(),
    });
    expect(result).toMatchObject({ status: "compacted", rung: "truncate" });
    const { message } = session.projection().items.find(({ entryId }) => entryId === id("u2"))!;
    const shown = messageText(message);
    expect(shown.length).toBeGreaterThan(chars * 0.95);
    expect(shown.length).toBeLessThanOrEqual(chars);
    expect(messageText((session.entry(id("u2")) as { message: Message }).message)).toHaveLength(64_000);
  }));

test("images are dropped before results are truncated, each only as far as needed", async () => {
  const { session, id } = history("U:10 A:10 | U:10*2 A(t1):10 T1:90000*20 A:10");
  const settings = settingsFor({
    summarizer: { fallback: "never" },
    mask: { enabled: false },
    keepRecentTokens: 200_000,
  });
  const result = await runCompaction({
    session,
    settings,
    model,
    summariser: scriptedSummariser([broken]),
    reason: "overflow",
  });
  expect(result).toMatchObject({ status: "masked", rung: "truncate" });
  const shown = session.projection().items.find((item) => item.entryId === id("t1"))!;
  const text = JSON.stringify(shown.message);
  expect(text).toContain("[image left out: image/png]");
  expect(text).toMatch(/\[… \d+ more characters …\]/);
});
