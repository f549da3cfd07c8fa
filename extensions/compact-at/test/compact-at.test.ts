import type { FlagValue } from "@bonsai-agent/extension";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import compactAt from "../index.ts";

let open: TestSession | undefined;

afterEach(async () => {
  vi.unstubAllEnvs();
  await open?.close();
  open = undefined;
});

const words = "Words and words. ".repeat(6_000);

async function stage(flags: Record<string, FlagValue>, options: OpenTestSessionOptions = {}) {
  open = await openTestSession({
    extensions: compactAt,
    ui: {},
    flags,
    settings: { compaction: { keepRecentTokens: 1_000 } },
    answers: () => "As you say.",
    ...options,
  });
  return open;
}

async function say(session: TestSession, ...texts: string[]): Promise<void> {
  for (const text of texts) await session.prompt(text);
}

function compactions({ session }: TestSession): number {
  return session.entries().filter(({ type }) => type === "compaction").length;
}

function notified({ ui }: TestSession): unknown[] {
  return ui.filter(({ method }) => method === "notify").map(({ args }) => args[0]);
}

/** The purposes of the requests, in order. */
function purposes({ requests }: TestSession): string[] {
  return requests.map(({ purpose }) => purpose);
}

describe("by tokens", () => {
  test.each(["20000", "20k", " 20K ", "0.02m"])(
    "at %s the context is compacted, below it is not",
    async (text) => {
      const session = await stage({ "compact-at": text });
      await say(session, "One.", words.slice(0, 60_000));
      expect(compactions(session)).toBe(0);
      await say(session, words.slice(0, 20_000));
      expect(compactions(session)).toBe(1);
      await say(session, "And on.");
      expect([compactions(session), notified(session)]).toEqual([1, []]);
      await say(session, words);
      expect(compactions(session)).toBe(2);
    },
  );

  test("the environment has a say where no flag is given", async () => {
    vi.stubEnv("BONSAI_COMPACT_AT", "20k");
    const session = await stage({});
    await say(session, words, "Two.");
    expect(compactions(session)).toBe(1);
    await session.close();
    const other = await stage({ "compact-at": "90k" });
    await say(other, words, "Two.");
    expect(compactions(other)).toBe(0);
  });

  test("in the middle of a run the results that the model has not seen stay, and the run goes on", async () => {
    const call = { calls: [{ name: "bash", arguments: { command: "echo the cat" } }] };
    const session = await stage({ "compact-at": "20k" }, { answers: ["Ready.", call, "Seen."] });
    await say(session, words.slice(0, 70_000));
    expect((await session.prompt(`Look. ${words.slice(0, 10_000)}`)).status).toBe("done");
    expect(purposes(session)).toEqual(["turn", "turn", "summary", "turn"]);
    const messages = session.requests.at(-1)!.messages;
    expect(messages[0]?.role).toBe("compactionSummary");
    expect(messages.slice(-2).map(({ role }) => role)).toEqual(["assistant", "toolResult"]);
    expect(JSON.stringify(messages.at(-1))).toContain("the cat");
  });

  test("a session that is over it when it is gone on with is compacted before its first request", async () => {
    const long = (content: string) => ({ role: "user" as const, content, timestamp: 1 });
    const session = await stage({ "compact-at": "20k" }, { history: [long(words), long(words)] });
    await say(session, "Go on.");
    expect(purposes(session)).toEqual(["summary", "turn"]);
    expect(JSON.stringify(session.requests.at(-1)!.messages)).toContain("Go on.");
  });
});

describe("by cost", () => {
  const usdPerMillionTokens = { input: 20, output: 100, cacheRead: 20, cacheWrite: 20 };

  test.each(["1.50", "$1.5"])("at %s since the last compaction it is compacted", async (text) => {
    const session = await stage({ "compact-at-cost": text }, { model: { usdPerMillionTokens } });
    // Some 0.55 dollars each.
    await say(session, words, "Two.");
    expect(compactions(session)).toBe(0);
    await say(session, "Three.");
    expect(compactions(session)).toBe(1);
    await say(session, "Four.", "Five.", "Six.");
    expect([compactions(session), notified(session)]).toEqual([1, []]);
  });

  test("what another branch cost does not count", async () => {
    const session = await stage({ "compact-at-cost": "0.9" }, { model: { usdPerMillionTokens } });
    await say(session, "One.");
    const answer = session.session.leafId!;
    await say(session, words);
    await session.agent.navigate(answer);
    await say(session, words);
    expect(compactions(session)).toBe(0);
  });
});

describe("where a compaction does not help", () => {
  test("it is notified, and not tried again before there is a fifth more", async () => {
    const settings = { compaction: { keepRecentTokens: 1_000, summarizer: { fallback: "never" as const } } };
    const session = await stage({ "compact-at": "20k" }, { settings, summaries: () => "No sections." });
    await say(session, "One.", words);
    const failed = expect.stringMatching(/^compact-at: The compaction failed: /);
    expect(notified(session)).toEqual([failed]);
    await say(session, words.slice(0, 10_000));
    expect(notified(session)).toEqual([failed]);
    await say(session, words.slice(0, 20_000));
    expect(notified(session)).toEqual([failed, failed]);
    expect(compactions(session)).toBe(0);
  });

  test("because what is kept is more than the threshold, the next waits for a fifth more", async () => {
    const settings = { compaction: { keepRecentTokens: 8_000 } };
    const session = await stage({ "compact-at": "5k" }, { settings });
    await say(session, words.slice(0, 24_000), words.slice(0, 44_000), "Two.", "Three.");
    expect(purposes(session)).toEqual(["turn", "turn", "summary", "turn", "turn"]);
    expect(notified(session)).toEqual([expect.stringContaining("the whole context is recent")]);
    await say(session, words.slice(0, 20_000));
    expect(compactions(session)).toBe(2);
  });

  test("because it was cancelled, the run goes on, and elsewhere in the tree it is tried anew", async () => {
    const session = await stage(
      { "compact-at": "20k" },
      {
        extensions: [
          compactAt,
          (bonsai) => {
            bonsai.on("session_before_compact", () => ({ cancel: true, reason: "Not now." }));
          },
        ],
      },
    );
    await say(session, "One.");
    const answer = session.session.leafId!;
    expect((await session.prompt(words)).status).toBe("done");
    const cancelled = "compact-at: The compaction was cancelled: Compaction cancelled. Not now.";
    expect(notified(session)).toEqual([cancelled]);
    await session.agent.navigate(answer);
    await say(session, words);
    expect(notified(session)).toEqual([cancelled, cancelled]);
  });
});

describe("a threshold that is none", () => {
  test.each([
    [{ "compact-at": "80q" }, 'compact-at: ignored the threshold "80q": write tokens as 80000, 80k or 0.2m.'],
    [{ "compact-at": "0" }, 'compact-at: ignored the threshold "0": write tokens as 80000, 80k or 0.2m.'],
    [{ "compact-at": "-5k" }, 'compact-at: ignored the threshold "-5k": write tokens as 80000, 80k or 0.2m.'],
    [{ "compact-at-cost": "2k" }, 'compact-at: ignored the threshold "2k": write dollars as 1.50.'],
    [{ "compact-at-cost": "€2" }, 'compact-at: ignored the threshold "€2": write dollars as 1.50.'],
  ])("is notified at the start, and never reached: %j", async (flags, problem) => {
    const session = await stage(flags as Record<string, FlagValue>);
    await say(session, words, "Two.");
    expect([notified(session), compactions(session)]).toEqual([[problem], 0]);
  });

  test("is notified in the session commands too, and nothing else is done there", async () => {
    const session = await stage({ "compact-at": "much" }, { withAgent: false });
    expect(notified(session)).toHaveLength(1);
  });

  test("and one that is not given at all, does nothing", async () => {
    const session = await stage({});
    await say(session, words, words);
    expect([notified(session), compactions(session)]).toEqual([[], 0]);
  });
});

test("a reload in between changes nothing", async () => {
  const session = await stage({ "compact-at": "20k" });
  await say(session, "One.");
  await session.extensions.reload();
  await say(session, words);
  expect(compactions(session)).toBe(1);
});
