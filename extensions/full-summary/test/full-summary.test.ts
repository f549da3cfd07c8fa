import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, describe, expect, test } from "vitest";
import fullSummary from "../index.ts";

let open: TestSession | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

const words = "Words and words. ".repeat(6_000);

async function stage(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  open = await openTestSession({ extensions: fullSummary, ui: {}, answers: () => "As you say.", ...options });
  return open;
}

async function say(session: TestSession, ...texts: string[]): Promise<void> {
  for (const text of texts) await session.prompt(text);
}

function roles({ session }: TestSession): string[] {
  return session.projection().items.map(({ message }) => message.role);
}

/** The roles of the messages in each turn's request. */
function sent({ requests }: TestSession): string[][] {
  const turns = requests.filter(({ purpose }) => purpose === "turn");
  return turns.map(({ messages }) => messages.map(({ role }) => role));
}

describe("nothing is kept but the summary", () => {
  test("when the agent is idle, the first time and the second", async () => {
    const session = await stage();
    for (const _time of [1, 2]) {
      await say(session, "One.", words, "Two.");
      expect((await session.agent.compact({ focus: "the door" })).status).toBe("compacted");
      expect(roles(session)).toEqual(["compactionSummary"]);
    }
    const last = JSON.stringify(session.requests.at(-1)?.messages);
    expect(last).toContain("previous-summary");
    expect(last).toContain("the door");
    await say(session, "And now?");
    expect(roles(session)).toEqual(["compactionSummary", "user", "assistant"]);
  });

  test("and compacting again at once finds nothing to do", async () => {
    const session = await stage();
    await say(session, "One.", words, "Two.");
    await session.agent.compact();
    expect((await session.agent.compact()).status).toBe("skipped");
  });

  test("after the last answer, where the threshold was crossed", async () => {
    const session = await stage({
      model: { contextWindow: 30_000 },
      answers: ["Ready.", words.slice(0, 40_000)],
    });
    await say(session, words.slice(0, 60_000), "Two.");
    expect(roles(session)).toEqual(["compactionSummary"]);
  });
});

describe("what the model has not answered is kept", () => {
  test("a prompt that was just typed", async () => {
    const session = await stage({ model: { contextWindow: 30_000 } });
    await say(session, words.slice(0, 70_000), "Two.");
    await say(session, `Mind the cat. ${words.slice(0, 20_000)}`);
    expect(session.session.projection().compaction).toBeDefined();
    expect(sent(session).at(-1)).toEqual(["compactionSummary", "user"]);
    expect(JSON.stringify(session.requests.at(-1)?.messages.at(-1))).toContain("Mind the cat.");
  });

  test("the results of the latest calls, with the answer that made them", async () => {
    const call = {
      calls: [1, 2].map((each) => ({ name: "bash", arguments: { command: `echo cat-${each}` } })),
    };
    const session = await stage({
      extensions: [
        fullSummary,
        (bonsai) => {
          bonsai.on("turn_end", ({ toolResults }, ctx) => {
            if (toolResults.length > 0) ctx.compact();
          });
        },
      ],
      answers: ["Ready.", call, "Seen."],
    });
    await say(session, words);
    expect((await session.prompt("List the cats.")).status).toBe("done");
    expect(sent(session).at(-1)).toEqual(["compactionSummary", "assistant", "toolResult", "toolResult"]);
    expect(JSON.stringify(session.requests.at(-1)?.messages.slice(1))).toContain("cat-2");
    expect(session.session.projection().compaction?.fromHook).toBe(true);
  });

  test("a prompt that was refused as too long", async () => {
    const tooLong = { error: { status: 400, message: "prompt is too long: 31000 tokens > 30000 maximum" } };
    const session = await stage({
      model: { contextWindow: 30_000 },
      settings: { compaction: { enabled: false } },
      answers: ["One.", tooLong, "Two."],
    });
    await say(session, words.slice(0, 80_000));
    expect((await session.prompt("Mind the cat.")).status).toBe("done");
    expect(sent(session).at(-1)).toEqual(["compactionSummary", "user"]);
    expect(JSON.stringify(session.requests.at(-1)?.messages)).toContain("Mind the cat.");
  });
});

describe("where it fails", () => {
  test("the usual compaction is made, with a notice", async () => {
    let asked = 0;
    const session = await stage({
      summaries: () => {
        asked += 1;
        return asked === 1 ? "No sections." : sections;
      },
    });
    await say(session, "One.", words, "Two.");
    expect((await session.agent.compact()).status).toBe("compacted");
    expect(roles(session).slice(1)).not.toEqual([]);
    expect(session.ui).toMatchObject([
      {
        method: "notify",
        args: [expect.stringContaining("using the default compaction instead"), "warning"],
      },
    ]);
  });

  test("because it was cancelled, nothing is changed, and there is no notice", async () => {
    const session = await stage({
      summaries: () => {
        session.agent.cancelCompaction();
        return sections;
      },
    });
    await say(session, "One.", words, "Two.");
    const before = roles(session);
    expect((await session.agent.compact()).status).toBe("cancelled");
    expect(roles(session)).toEqual(before);
    expect([session.ui, session.notices]).toEqual([[], []]);
  });
});

test("branches are summarised as ever", async () => {
  const session = await stage();
  await say(session, "One.");
  const [first] = session.session.projection().items;
  const { summaryEntry } = await session.agent.navigate(first!.entryId, { summarise: true });
  expect(summaryEntry?.fromHook).toBeUndefined();
});

const headings = [
  "Goal",
  "Constraints & Preferences",
  "Progress",
  "Key Decisions",
  "Next Steps",
  "Critical Context",
];
const sections = headings.map((heading) => `## ${heading}\nAs it stands.`).join("\n\n");
