import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, expect, test } from "vitest";
import digestSummary from "../index.ts";

let open: TestSession | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

const words = "Words and words. ".repeat(6_000);
/** Enough for a digest to be shorter. */
const LONG = Array.from({ length: 400 }, (_, at) => `Plank ${at} is loose.`).join(" ");

/** A session whose model must not be asked for a summary. */
async function stage(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  open = await openTestSession({
    extensions: digestSummary,
    answers: () => "As you say.",
    summaries: () => ({ error: { status: 500, message: "The model was asked." } }),
    ...options,
  });
  return open;
}

async function say(session: TestSession, ...texts: string[]): Promise<void> {
  for (const text of texts) await session.prompt(text);
}

function asked({ requests }: TestSession): number {
  return requests.filter(({ purpose }) => purpose === "summary").length;
}

function contextOf({ session }: TestSession): string {
  return JSON.stringify(session.projection().items.map(({ message }) => message));
}

test("compactions are the digest's, the first and the second, and cost nothing", async () => {
  const session = await stage();
  await say(session, `Mend the oak door. ${LONG}`, words, "Go on.");
  for (const times of [1, 2]) {
    expect((await session.agent.compact()).status).toBe("compacted");
    expect(session.session.projection().compaction?.usage).toBeUndefined();
    expect(contextOf(session)).toContain("oak door");
    expect(session.session.entries().filter(({ type }) => type === "compaction")).toHaveLength(times);
    await say(session, words, "And on.");
  }
  expect(asked(session)).toBe(0);
  expect(session.notices).toEqual([]);
});

test("carries over what other extensions ask for", async () => {
  const session = await stage({
    extensions: [
      digestSummary,
      (bonsai) => {
        bonsai.on("session_before_compact", () => ({ carryOver: { bells: ["Ring twice."] } }));
      },
    ],
  });
  await say(session, `Mend the oak door. ${LONG}`, words, "Two.");
  await session.agent.compact();
  expect(contextOf(session).includes("Ring twice.")).toBe(true);
});

test("at the threshold, in the middle of a run, the task goes on", async () => {
  const call = (count: number) => ({ calls: [{ name: "bash", arguments: { command: `echo ${count}` } }] });
  const session = await stage({
    model: { contextWindow: 30_000 },
    answers: [call(1), "Half.", call(2), "Done."],
  });
  await say(session, `Mend the oak door. ${words.slice(0, 60_000)}`);
  expect((await session.prompt(`Then the window. ${words.slice(0, 60_000)}`)).status).toBe("done");
  expect(session.session.projection().compaction).toBeDefined();
  expect(asked(session)).toBe(0);
});

test("an overflow is recovered from, also where the span is so short that its digest is longer", async () => {
  let requests = 0;
  const session = await stage({
    model: { contextWindow: 30_000 },
    settings: { compaction: { enabled: false } },
    answers: () => {
      requests += 1;
      return requests === 2
        ? { error: { status: 400, message: "prompt is too long: 31000 tokens > 30000 maximum" } }
        : "As you say.";
    },
  });
  await say(session, "Hi.");
  expect((await session.prompt(words)).status).toBe("done");
  expect(asked(session)).toBe(0);
  expect(session.session.projection().compaction).toBeDefined();
});

test("where the digest finds few words to quote, it says what there is, and no model is asked", async () => {
  const session = await stage();
  await say(session, `Hi. ${LONG}`, words);
  expect((await session.agent.compact()).status).toBe("compacted");
  expect(contextOf(session)).toContain("## Latest statement\\n1. agent");
  expect([asked(session), session.notices]).toEqual([0, []]);
});

test("a compaction that is cancelled changes nothing", async () => {
  const session = await stage();
  await say(session, "Mend the oak door.", words, "Go on.");
  session.lifecycle.on("session_before_compact", () => session.agent.cancelCompaction(), { source: "user" });
  const { extensions } = session;
  await extensions.reload();
  expect((await session.agent.compact()).status).toBe("cancelled");
  expect(session.session.projection().compaction).toBeUndefined();
  expect(session.notices).toEqual([]);
});

test("a branch that is left is the digest's; none where none is wanted", async () => {
  const session = await stage();
  await say(session, "Mend the oak door.");
  const [first] = session.session.projection().items;
  const { summaryEntry } = await session.agent.navigate(first!.entryId, { summarise: true });
  expect(summaryEntry?.summary).toContain("oak door");
  expect(summaryEntry?.usage).toBeUndefined();
  await say(session, "Another way.");
  expect((await session.agent.navigate(first!.entryId)).summaryEntry).toBeUndefined();
  expect(asked(session)).toBe(0);
});

test("in the session commands, where no agent is, too", async () => {
  const session = await stage({
    withAgent: false,
    history: [{ role: "user", content: "Mend the oak door.", timestamp: 1 }],
  });
  const preparation = {
    targetId: null,
    oldLeafId: session.session.leafId,
    commonAncestorId: null,
    entriesToSummarize: session.session.path(),
    userWantsSummary: true,
  };
  const payload = { type: "session_before_tree" as const, preparation, signal: new AbortController().signal };
  const { result } = await session.lifecycle.decide("session_before_tree", payload);
  expect(result?.summary?.summary).toContain("oak door");
});

test("of a branch without a word there is no summary; of one whose words are all left out, a word that says so", async () => {
  const session = await stage();
  await say(session, "Hi.");
  const [, answer] = session.session.projection().items;
  session.session.append({ type: "custom", customType: "x" });
  const wordless = await session.agent.navigate(answer!.entryId, { summarise: true });
  expect(wordless.status).toBe("moved");
  expect(wordless.summaryEntry).toBeUndefined();
  const message = { role: "user" as const, content: "Never mind.", timestamp: 1 };
  const { id } = session.session.append({ type: "message", message });
  session.session.append({ type: "context_edit", targetId: id, replacement: null });
  const { summaryEntry } = await session.agent.navigate(answer!.entryId, { summarise: true });
  expect(summaryEntry?.summary).toContain("contain nothing notable");
  expect(asked(session)).toBe(0);
});
