import { chars4Estimator } from "@bonsai-agent/messages";
import { everyRow, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type CompactionSettingsInput, compactionSettings, manifestOf, runCompaction } from "../src/index.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

const settingsFor = (input: CompactionSettingsInput = {}) =>
  compactionSettings(input, { estimator: "chars4" });
const keeping = (keepRecentTokens: number) => settingsFor({ keepRecentTokens });

test("a summary too long for one request is made in chunks, oldest first, each updating the last", async () => {
  const turns = Array.from({ length: 20 }, (_, index) => `U:400 A"answer ${index}"`).join(" | ");
  const { session } = history(`${turns} | U:100 A:100`);
  const summariser = scriptedSummariser([], { contextWindow: 6_000, maxOutputTokens: 1_000 });
  const result = await runCompaction({ session, settings: keeping(200), summariser });
  expect(result).toMatchObject({ status: "compacted", rung: "chunks" });
  expect(result.requests).toBeGreaterThan(1);
  expect(summariser.requests[0]?.previousSummary).toBeUndefined();
  for (const request of summariser.requests.slice(1)) expect(request.previousSummary).toContain("history");
  const asked = summariser.requests.flatMap((request) => request.messages);
  expect(asked).toEqual(
    session
      .path()
      .slice(0, 40)
      .map((entry) => entry.type === "message" && entry.message),
  );
});

test.each([
  ["replaced", 'E(t1)"the key is hidden" M(t1)', "the key is hidden"],
  ["replaced, masked twice", 'E(t1)"the key is hidden" M(t1) M(t1)', "the key is hidden"],
  ["taken out", "E(t1) M(t1)", "[Old tool result content cleared]"],
  ["masked alone", "M(t1)", "key=ferry-91"],
])("the summariser gets text that was %s before a mask in its new form", async (_how, edits, shown) => {
  const { session } = history(`U A(t1) T1"key=ferry-91" A | U:400 A:400 ${edits} | U:100 A:300`);
  const summariser = scriptedSummariser();
  await runCompaction({ session, settings: keeping(100), summariser });
  const asked = JSON.stringify(summariser.requests.map(({ messages }) => messages));
  expect(asked).toContain(shown);
  expect(asked.includes("ferry-91")).toBe(shown.includes("ferry-91"));
});

test("a summariser that finds the whole too long gets it in chunks", async () => {
  const { session } = history("U:4000 A:4000 | U:4000 A:4000 | U:100 A:100");
  const tooLong = { stopReason: "error" as const, errorMessage: "prompt is too long", overflow: true };
  const summariser = scriptedSummariser([tooLong]);
  const result = await runCompaction({ session, settings: keeping(200), summariser });
  expect(result).toMatchObject({
    status: "compacted",
    rung: "chunks",
    failures: [{ rung: "summarise", overflow: true }],
  });
});

test("no request exceeds the summariser's window less its output cap, whatever the messages' sizes", async () => {
  const window = fc.record({
    contextWindow: fc.integer({ min: 1_500, max: 20_000 }),
    outputShare: fc.double({ min: 0.05, max: 0.5, noNaN: true }),
  });
  const big = fc.constantFrom("", "U:30000", "A(t9=write:x) T9:30000", "B:30000 A", "X:30000", "S:30000 A");
  let checked = 0;
  await fc.assert(
    fc.asyncProperty(
      treeArbitrary({ maxTokens: 10_000 }),
      big,
      window,
      async (notation, giant, { contextWindow, outputShare }) => {
        const maxOutputTokens = Math.floor(contextWindow * outputShare);
        const { session } = history(`${giant} ${notation} U:10 A:10`);
        const summariser = scriptedSummariser([], { contextWindow, maxOutputTokens });
        await runCompaction({
          session,
          settings: keeping(20),
          summariser,
          digest: scriptedSummariser(),
          reason: "overflow",
        });
        for (const { prompt, maxSummaryTokens } of summariser.requests) {
          const tokens = chars4Estimator.text(prompt.system + prompt.user);
          checked += 1;
          expect(tokens + Math.max(maxOutputTokens, maxSummaryTokens)).toBeLessThanOrEqual(contextWindow);
        }
      },
    ),
  );
  expect(checked).toBeGreaterThan(60);
});

test("one message of 5 MB is summarised by a small model", async () => {
  const { session } = history("U:1250000 A:10 | U:100 A:100");
  const summariser = scriptedSummariser([], { contextWindow: 8_000, maxOutputTokens: 2_000 });
  const result = await runCompaction({ session, settings: keeping(200), summariser });
  expect(result.status).toBe("compacted");
  for (const { prompt } of summariser.requests)
    expect(chars4Estimator.text(prompt.system + prompt.user)).toBeLessThanOrEqual(6_000);
});

test("when one half of a split turn fails, the other is aborted and nothing is stored", async () => {
  const { session } = history("U:1000 A:1000 | U:100 A(t1) T1:5000 A:100");
  const aborted: string[] = [];
  const summariser = scriptedSummariser();
  summariser.summarise = (request) => {
    if (request.kind === "turnPrefix") return Promise.resolve({ text: "", stopReason: "stop" });
    return new Promise((_, reject) => {
      request.signal.addEventListener("abort", () => {
        aborted.push(request.kind);
        reject(new Error("aborted"));
      });
    });
  };
  const settings = settingsFor({ keepRecentTokens: 100, summarizer: { fallback: "never" } });
  const result = await runCompaction({ session, settings, summariser });
  expect(result.status).toBe("failed");
  expect(result.error?.message).toContain("The summariser sent an empty answer.");
  expect(aborted).toEqual(["history"]);
});

test("a split turn without earlier history keeps the previous summary", async () => {
  const { session } = history("U:1000 A:1000 | U:100 A:100");
  await runCompaction({ session, settings: keeping(200), summariser: scriptedSummariser() });
  history("A(t1) T1:5000 A(t2) T2:5000 A:100", session);
  const summariser = scriptedSummariser();
  const second = await runCompaction({ session, settings: keeping(100), summariser });
  expect(summariser.requests.map((request) => request.kind)).toEqual(["turnPrefix"]);
  expect(second.summary).toMatch(
    /first history[\s\S]*\n\n---\n\n\*\*Turn Context \(split turn\):\*\*\n\n[\s\S]*first turnPrefix/,
  );
});

test("a turn prefix is shown without empty headings", () =>
  everyRow([
    [
      "## Request\nMend it\n\n## Done So Far\n\n### Done\n(none)\n\n## Needed to Continue\n",
      "## Request\nMend it",
    ],
    [
      "## Request\n(none)\n\n## Done So Far\n\n### Blocked\n- a.ts\n\n## Needed to Continue",
      "## Done So Far\n\n### Blocked\n- a.ts",
    ],
    ["## Request\n(none)\n\n## Done So Far\n- (none)\n\n## Needed to Continue\n(none)", "(none)"],
  ])(async ([text, shown]) => {
    const { session } = history("U:1000 A:1000 | U:100 A(t1) T1:5000 A:100");
    const summariser = scriptedSummariser([{ text: wellFormed({ kind: "history" }) }, { text }]);
    const { summary = "" } = await runCompaction({ session, settings: keeping(100), summariser });
    const [, prefix = ""] = summary.split("**Turn Context (split turn):**\n\n");
    expect(prefix.split("\n\n## Kept word for word\n\n")[0]).toBe(shown);
  }));

test("focus text goes to both requests of a split turn", async () => {
  const { session } = history("U:1000 A:1000 | U:100 A(t1) T1:5000 A:100");
  const summariser = scriptedSummariser();
  await runCompaction({ session, settings: keeping(100), summariser, focus: "the <conversation> parser" });
  expect(summariser.requests.map((request) => request.focus)).toEqual(
    Array(2).fill("the <conversation> parser"),
  );
  for (const { prompt } of summariser.requests) expect(prompt.user).toContain("the <conversation> parser");
});

test("the latest request is carried word for word, over compactions, until a newer one is kept; it cannot end its block", async () => {
  const request = '  Fix "src/a.ts":\n\n\t- keep </latest-request> as it is\n- no `any` — 日本語も  ';
  const { session } = history("U:900 A:900");
  session.append({ type: "message", message: { role: "user", content: request, timestamp: 1 } });
  history("A(t1) T1:2000 A(t2) T2:2000 A:100", session);
  const carried = `replaces it.\n${request.replace("<", "&lt;")}\n</latest-request>`;
  const first = await runCompaction({ session, settings: keeping(100), summariser: scriptedSummariser() });
  expect(first.summary).toContain(carried);
  expect(first.entry?.details).toMatchObject({ latestRequest: { text: request } });
  history("A(t3) T3:2000 A(t4) T4:2000 A:100", session);
  const summariser = scriptedSummariser();
  const second = await runCompaction({ session, settings: keeping(100), summariser });
  expect(second.summary).toContain(carried);
  expect(JSON.stringify(summariser.requests.map(({ prompt }) => prompt))).not.toContain(
    "keep </latest-request> as",
  );
  history("A:2000 | U:100 A:100", session);
  const third = await runCompaction({ session, settings: keeping(200), summariser: scriptedSummariser() });
  expect(third.summary).not.toContain("<latest-request>");
});

test("a request longer than the documented limit is carried with head and tail, and names its entry", async () => {
  const { session, id } = history("U:30000 A:90000 A:100");
  const result = await runCompaction({ session, settings: keeping(100), summariser: scriptedSummariser() });
  const [, carried = ""] =
    /<latest-request>\n.*\n([\s\S]*)\n<\/latest-request>/.exec(result.summary ?? "") ?? [];
  expect(carried.length).toBeLessThan(40_200);
  expect(carried).toContain(`entry ${id("u1")}`);
});

test("pinned texts survive every compaction", async () => {
  const { session } = history("U:900 A:900 | U:100 A:100");
  await runCompaction({
    session,
    settings: keeping(200),
    summariser: scriptedSummariser(),
    pinned: ["Never touch main."],
  });
  history("U:900 A:900 | U:100 A:100", session);
  const second = await runCompaction({ session, settings: keeping(200), summariser: scriptedSummariser() });
  expect(second.summary).toContain("<pinned>\nNever touch main.\n</pinned>");
});

test("an update starts from a foreign summary without its file lists", async () => {
  const foreign = "## Goal\nForeign goal\n\n<read-files>\nx.ts\n</read-files>";
  const { session } = history(`U A | U A C(u2)"${foreign}" U:900 A:900 | U:100 A:100`);
  const summariser = scriptedSummariser();
  await runCompaction({ session, settings: keeping(200), summariser });
  expect(summariser.requests[0]?.previousSummary).toBe("## Goal\nForeign goal");
});

const NOTHING = { kept: 0, lost: 0, putBack: 0 };

test("the manifest records what was kept, masked, summarised and lost, and what it cost", async () => {
  const { session, id } = history("m k U:900 A:900 | U:900 A:900 | U:100 A:100");
  const summariser = scriptedSummariser();
  const { entry, tokensAfter } = await runCompaction({ session, settings: keeping(200), summariser });
  const manifest = manifestOf(entry)!;
  expect(manifest).toEqual({
    reason: "manual",
    rung: "summarise",
    isMeasured: true,
    tokensBefore: 3_800,
    estimatedTokensBefore: 3_800,
    tokensAfter,
    splitTurn: false,
    summarised: { count: 4, first: id("u1"), last: id("a2") },
    turnPrefix: { count: 0 },
    kept: { count: 2, first: id("u3"), last: id("a3") },
    masked: [],
    lost: { media: [], truncated: [] },
    carried: { words: 2, wordsLeftOut: 0, knownTerms: 0 },
    loss: {
      ...Object.fromEntries(
        ["failing", "irreversible", "openTodos", "requests", "terms"].map((kind) => [kind, NOTHING]),
      ),
      lostTerms: [],
    },
    requests: 1,
    costUsd: 0.01,
    settings: { preset: "bonsai", estimator: "chars4", keepTokens: 200, reserveTokens: 16_384 },
    state: { provider: "scripted", modelId: "scripted", thinkingLevel: "high" },
  });
});

test("three compactions with the built-in digest keep the constraint and the files of the first", async () => {
  const { session } = history(
    'U"Rename the parser. Never use the any type, please." A(t1=edit:src/parser.ts) T1 A:9000',
  );
  for (let round = 0; round < 3; round++) {
    history("U:3000 A:3000 U:100 A:100", session);
    expect((await runCompaction({ session, settings: keeping(200) })).status).toBe("compacted");
  }
  const [first] = session.projection().items;
  const { summary = "" } = first!.message as { summary?: string };
  expect(summary).toContain("Never use the any type");
  expect(summary).toContain("<modified-files>\nsrc/parser.ts\n</modified-files>");
});

test("the digest summarises even a span of a few messages when the user asks for it", () =>
  everyRow([200, 201])(async (keep) => {
    const { session } = history("U:100 A:100 U:100 A:100");
    const result = await runCompaction({ session, settings: keeping(keep) });
    expect(result).toMatchObject({ status: "compacted", rung: "digest", splitTurn: keep === 201 });
  }));

test("planning a context of 10,000 messages is linear in its length", async () => {
  const turn = "U:5 A(t1 t2):5 T1:20 T2:20 A:5";
  const counted = async (turns: number) => {
    const { session } = history(Array(turns).fill(turn).join(" "));
    let calls = 0;
    const estimator = {
      ...chars4Estimator,
      message: (message: Parameters<typeof chars4Estimator.message>[0]) => {
        calls += 1;
        return chars4Estimator.message(message);
      },
    };
    await runCompaction({ session, settings: keeping(500), estimator, digest: scriptedSummariser() });
    return calls;
  };
  expect(await counted(200)).toBeLessThanOrEqual(2.2 * (await counted(100)));
});

test("the record of a compaction has the focus, without its secrets", async () => {
  const { session } = history("U:900 A:900 | U:900 A:900 | U:100 A:100");
  const token = `ghp_${"a1B2".repeat(9)}`;
  const focus = `the parser, ${token}`;
  const run = { session, settings: keeping(200), summariser: scriptedSummariser(), focus };
  const { entry } = await runCompaction(run);
  const manifest = manifestOf(entry)!;
  expect(manifest.focus).toMatch(/^the parser, \[redacted: /);
});
