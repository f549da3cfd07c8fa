import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  type CompactionSettingsInput,
  compactionSettings,
  planCompaction,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settingsFor = (input: CompactionSettingsInput = {}) =>
  compactionSettings(input, { estimator: "chars4" });
const keeping = (keepRecentTokens: number) => settingsFor({ keepRecentTokens });

/** `u1 a1 / a2 | u2 …`: history / turn prefix | kept, by name. */
function picture(notation: string, keepRecentTokens: number): string {
  const { session, name } = history(notation);
  const plan = planCompaction({ session, settings: keeping(keepRecentTokens) });
  if (plan.status !== "planned") return plan.status;
  const names = (ids: string[]) => ids.map(name).join(" ");
  const prefix = plan.splitTurn ? ` / ${names(plan.turnPrefixEntryIds)}` : "";
  return `${names(plan.summarizedEntryIds)}${prefix} | ${names(plan.keptEntryIds)}`.trim();
}

/** Claim :: notation :: tokens to keep :: picture of the plan. */
const PLANS = `
results that the model has not seen are kept, although the user has spoken since :: U:10 A:10 | U:10 A(t1):10 T1:500 U:50 :: 40 :: u1 a1 / u2 | a2 t1 u3
results that the model has not seen are kept, although nothing is to be kept :: U:10 A:10 | U:10 A(t1):10 T1:500 :: 0 :: u1 a1 / u2 | a2 t1
case 1: keep 200 cuts at the second user message :: U:100 A:100 U:100 A:100 :: 200 :: u1 a1 | u2 a2
case 1: keep 201 splits the first turn :: U:100 A:100 U:100 A:100 :: 201 :: / u1 | a1 u2 a2
case 2: parallel results stay with their call, cut before the call :: U:10 A:10 | U:10 A(t1 t2):50 T1:100 T2:100 :: 150 :: u1 a1 / u2 | a2 t1 t2
case 2: parallel results stay with their call, cut behind both :: U:10 A:10 | U:10 A(t1 t2):50 T1:100 T2:100 A:20 :: 150 :: u1 a1 / u2 a2 t1 t2 | a3
a refused request starts no kept part: the results that it carried stay with their call :: U:10 A:10 | U:10 A(t1):10 T1:5000 A~error :: 200 :: u1 a1 / u2 | a2 t1 a3
a first message that alone reaches the budget does not keep everything :: U:50000 A(t1):10 T1:100 A:10 :: 20000 :: / u1 | a1 t1 a2
a first message with nothing behind it stays :: U:50000 :: 20000 :: nothing-to-compact
case 4: an extension message counts :: U:10 A:10 | U:10 A:10 X:30000 A:10 :: 20000 :: u1 a1 u2 a2 | x1 a3
case 4: a !! command does not count :: U:10 A:10 | U:10 A:10 B:30000! A:10 :: 20000 :: nothing-to-compact
a tail larger than the budget keeps its call :: U:10 A(t1):10 T1:5000 :: 100 :: / u1 | a1 t1
metadata before a clean cut does not split :: U:100 A:100 m k l p U:100 A:100 :: 200 :: u1 a1 | u2 a2
an aborted answer is no place to cut :: U:100 A:100 A~aborted:100 U:50 A:50 :: 200 :: u1 a1 a2 | u2 a3
a budget of nothing keeps nothing :: U:100 A:100 :: 0 :: u1 a1 |
reused call ids pair with the nearest call :: U:9 A(t1) T1:9 A | U:9 A(t1) T1:90 A:9 :: 95 :: u1 a1 t1 a2 / u2 a3 t1 | a4
a steering message between call and result stays :: U:9 A(t1):9 U:9 T1:50 :: 60 :: / u1 | a1 u2 t1
also where it is the one that crosses the budget :: U:9 A(t1):9 U:9 T1:50 :: 55 :: / u1 | a1 u2 t1
a branch summary starts a turn :: U:100 A:100 | S:100 A:100 :: 200 :: u1 a1 | s1 a2
a branch summary starts the turn that is split :: U:100 A:100 | S:100 A:100 :: 100 :: u1 a1 / s1 | a2
nothing follows a compaction :: U:100 A:100 C() m p :: 10 :: already-compacted
ignores an undone compaction :: U:100 A:100 U:100 A:100 C(u2) Z(c1) :: 200 :: u1 a1 | u2 a2
`;

test.each(
  PLANS.trim()
    .split("\n")
    .map((line) => line.split(" :: ") as [string, string, string, string]),
)("%s", (_, notation, keep, expected) => {
  expect(picture(notation, Number(keep))).toBe(expected);
});

test("case 3: one turn of 60k tokens, keep 20k: two summaries in parallel, history first", async () => {
  const rounds = Array.from({ length: 12 }, (_, index) => `A(t${index}) T${index}:5000`).join(" ");
  const { session } = history(`U:1000 A:1000 | U:200 ${rounds}`);
  let release = () => {};
  const bothAsked = new Promise<void>((resolve) => {
    release = resolve;
  });
  const summariser = scriptedSummariser();
  const summarise = summariser.summarise.bind(summariser);
  summariser.summarise = async (request) => {
    const answer = await summarise(request);
    if (summariser.requests.length === 2) release();
    await bothAsked;
    return answer;
  };
  const result = await runCompaction({ session, settings: settingsFor(), summariser });
  expect(summariser.requests.map((request) => request.kind)).toEqual(["history", "turnPrefix"]);
  expect(result).toMatchObject({ status: "compacted", splitTurn: true, requests: 2 });
  const kept = session.projection().items[1]!.message;
  expect(kept.role).toBe("assistant");
  const { summary = "" } = result;
  const [first, second] = summary.split("\n\n---\n\n**Turn Context (split turn):**\n\n");
  expect(first).toContain("first history");
  expect(second).toContain("first turnPrefix");
});

test("case 5: everything fits: nothing to compact, no request, no entry", async () => {
  const { session } = history("U:100 A:100 | U:100 A:100");
  const summariser = scriptedSummariser();
  const before = session.entries().length;
  const result = await runCompaction({ session, settings: settingsFor(), summariser });
  expect(result).toMatchObject({
    status: "nothing-to-compact",
    requests: 0,
    tokensBefore: 400,
    tokensAfter: 400,
  });
  expect(summariser.requests).toEqual([]);
  expect(session.entries().length).toBe(before);
});

test("case 6: the last entry is a compaction: already compacted, no request", async () => {
  const { session } = history("U:100 A:100 | U:100 A:100 C(u2)");
  const summariser = scriptedSummariser();
  const result = await runCompaction({ session, settings: keeping(100), summariser });
  expect(result.status).toBe("already-compacted");
  expect(summariser.requests).toEqual([]);
});

test("case 7: files over two compactions; an extension's own details are not merged", async () => {
  const { session } = history(
    "U:5000 A(t1=read:a.ts) T1 A(t2=edit:a.ts) T2 A(t3=read:a.ts) T3 A:100 U:50 A:50",
  );
  const first = await runCompaction({ session, settings: keeping(100), summariser: scriptedSummariser() });
  expect(first).toMatchObject({ readFiles: [], modifiedFiles: ["a.ts"] });
  history("U:5000 A(t4=read:b.ts) T4 A:100 U:50 A:50", session);
  const second = await runCompaction({ session, settings: keeping(100), summariser: scriptedSummariser() });
  expect(second).toMatchObject({ readFiles: ["b.ts"], modifiedFiles: ["a.ts"] });
  expect(second.summary).toContain(
    "<read-files>\nb.ts\n</read-files>\n\n<modified-files>\na.ts\n</modified-files>",
  );

  session.append({
    type: "compaction",
    summary: "An extension's summary",
    firstKeptEntryId: session.leafId ?? "",
    tokensBefore: 1,
    details: { readFiles: ["theirs.ts"], modifiedFiles: [] },
    fromHook: true,
  });
  history("U:900 A(t5=read:c.ts) T5 A:100 U:50 A:50", session);
  const third = await runCompaction({ session, settings: keeping(100), summariser: scriptedSummariser() });
  expect(third.readFiles).toEqual(["c.ts"]);
});

test("case 7: what an earlier compaction listed as read is modified from its first change on", async () => {
  const { session } = history("U:900 A(t1=read:a.ts) T1 A:100 U:50 A:50");
  const compact = () => runCompaction({ session, settings: keeping(100), summariser: scriptedSummariser() });
  expect(await compact()).toMatchObject({ readFiles: ["a.ts"], modifiedFiles: [] });
  history("U:900 A(t2=edit:a.ts t3=read:b.ts) T2 T3 A:100 U:50 A:50", session);
  expect(await compact()).toMatchObject({ readFiles: ["b.ts"], modifiedFiles: ["a.ts"] });
});

test("case 7: nothing in an extension's own details passes for ours", async () => {
  const { session, id } = history("U:900 A | U:50 A:50");
  const details = {
    prose: "Their prose",
    pinned: ["Their pin"],
    readFiles: ["theirs.ts"],
    manifest: { settings: { keepTokens: 9_000 } },
  };
  const compaction = {
    type: "compaction" as const,
    firstKeptEntryId: id("u2"),
    tokensBefore: 900,
    fromHook: true,
  };
  session.append({ ...compaction, summary: "Their summary", details });
  const summariser = scriptedSummariser();
  expect((await runCompaction({ session, settings: keeping(50), summariser })).status).toBe(
    "already-compacted",
  );
  history("U:900 A:100 U:50 A:50", session);
  const { summary } = await runCompaction({ session, settings: keeping(100), summariser });
  expect(summariser.requests[0]?.previousSummary).toBe("Their summary");
  expect(summary).not.toMatch(/Their p|theirs\.ts/);
});

test("case 8: a model that repeats the frame does not double it", async () => {
  const { session } = history("U:900 A:100 U:50 A:50");
  const first = await runCompaction({ session, settings: keeping(100), summariser: scriptedSummariser() });
  history("U:900 A:100 U:50 A:50", session);
  const parrot = scriptedSummariser([{ text: first.summary ?? "" }]);
  const { summary = "" } = await runCompaction({ session, settings: keeping(100), summariser: parrot });
  expect(summary.match(/\[End of the record\. Continue from here/g)).toHaveLength(1);
  expect(summary.match(/\[Record of the earlier conversation/g)).toHaveLength(1);
  expect(summary.match(/^## Kept word for word$/gm)).toHaveLength(1);
  expect(summary.match(/^<user-words>$/gm)).toHaveLength(1);
});

test("case 8: three compactions: one continuation sentence, no reminder in the input", async () => {
  const { session } = history("U:900 A:100 U:50 A:50");
  const summariser = scriptedSummariser([], {});
  const summarise = summariser.summarise.bind(summariser);
  // A model that copies whatever it is given into its answer.
  summariser.summarise = async (request) => {
    const answer = await summarise(request);
    return { ...answer, text: `${answer.text}\n${request.previousSummary ?? ""}` };
  };
  for (let round = 0; round < 3; round++) {
    session.append({
      type: "custom_message",
      customType: "bonsai.continue",
      content: "REMINDER: go on.",
      display: false,
    });
    history('U"<system-reminder>REMINDER again</system-reminder>What now?" U:900 A:100 U:50 A:50', session);
    const { summary = "" } = await runCompaction({ session, settings: keeping(100), summariser });
    expect(summary.match(/\[End of the record\. Continue from here/g)).toHaveLength(1);
    expect(summary.match(/\[Record of the earlier conversation/g)).toHaveLength(1);
  }
  expect(summariser.requests).toHaveLength(3);
  for (const { prompt } of summariser.requests) {
    expect(prompt.user).not.toContain("REMINDER");
    expect(prompt.user).not.toContain("[End of the record");
    expect(prompt.user).not.toContain("<latest-request>");
  }
});

test("case 9: a window of 10,000 with default settings compacts something", async () => {
  const { session } = history("U:3000 A:3000 | U:1000 A:1000 | U:500 A:500");
  const summariser = scriptedSummariser();
  const model = { contextWindow: 10_000 };
  const result = await runCompaction({
    session,
    settings: settingsFor(),
    model,
    summariser,
    reason: "threshold",
  });
  expect(result.status).toBe("compacted");
  expect(result.tokensAfter).toBeLessThan(7_500);
});
