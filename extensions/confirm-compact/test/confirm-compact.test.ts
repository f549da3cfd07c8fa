import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, describe, expect, test } from "vitest";
import confirmCompact from "../index.ts";

let open: TestSession | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

const words = "Words and words. ".repeat(6_000);

async function stage(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  open = await openTestSession({
    extensions: confirmCompact,
    ui: { confirm: true },
    answers: () => "As you say.",
    ...options,
  });
  return open;
}

async function say(session: TestSession, ...texts: string[]): Promise<void> {
  for (const text of texts) await session.prompt(text);
}

/** Titles and messages of the questions. */
function questions({ ui }: TestSession): [string, string][] {
  return ui
    .filter(({ method }) => method === "confirm")
    .map(({ args }) => args.slice(0, 2) as [string, string]);
}

function compactions({ session }: TestSession): number {
  return session.entries().filter(({ type }) => type === "compaction").length;
}

describe("the question", () => {
  test("shows what would go: messages, tokens, requests, files", async () => {
    const read = (path: string) => ({ calls: [{ name: "read", arguments: { path } }] });
    const session = await stage({
      answers: [
        { calls: [{ name: "write", arguments: { path: "door.ts", content: "oak" } }] },
        read("door.ts"),
        read("absent.ts"),
        ...Array.from({ length: 9 }, () => "As you say."),
      ],
    });
    await say(session, "Mend the door.\nBe quick.", ...[1, 2, 3, 4, 5, 6].map((each) => `Knock ${each}.`));
    await say(session, `${"A long request. ".repeat(5)}${words}`);
    expect((await session.agent.compact()).status).toBe("compacted");
    const [[title, message]] = questions(session) as [[string, string]];
    expect(title).toMatch(/^Compact the context \(2\d,\d{3} tokens\)\? You requested it\.$/);
    expect(message.split("\n")).toEqual([
      expect.stringMatching(
        /^20 messages \(~\d{3} tokens\) would become a summary: 7 requests, 10 answers, 3 tool results\.$/,
      ),
      "Latest requests:",
      ...[1, 2, 3, 4, 5, 6].map((each) => `  Knock ${each}.`),
      "  and 1 more",
      "Files modified:",
      "  door.ts",
      "The session keeps every message. Use /undo to undo the compaction.",
    ]);
  });

  test("names the earlier summary that goes into the next; long requests are cut", async () => {
    const session = await stage();
    await say(session, "One.", words, "Two.");
    await session.agent.compact();
    await say(session, `${"A long request. ".repeat(50)}`, words, "Three.");
    await session.agent.compact();
    const [, message] = questions(session).at(-1)!;
    expect(message).toContain("would be added to the earlier summary:");
    expect(message.split("\n").every((line) => line.length < 160)).toBe(true);
    expect(message).toContain("A long request. A long request. A long request. A lon…");
  });

  test("has the signal of the compaction: who cancels that need not answer", async () => {
    const session = await stage({
      ui: {
        confirm: (_title, _message, settings) =>
          new Promise((resolve) => {
            settings?.signal?.addEventListener("abort", () => resolve(false));
            session.agent.cancelCompaction();
          }),
      },
    });
    await say(session, "One.", words, "Two.");
    expect((await session.agent.compact()).status).toBe("cancelled");
    expect(compactions(session)).toBe(0);
  });

  test("is not asked where nobody can be: the compaction goes on", async () => {
    open = await openTestSession({ extensions: confirmCompact, answers: () => "As you say." });
    await say(open, "One.", words, "Two.");
    expect((await open.agent.compact()).status).toBe("compacted");
    expect(open.notices).toEqual([]);
  });
});

describe("a no", () => {
  test("leaves all as it was, with the reason, and the next compaction asks again", async () => {
    const session = await stage({ ui: { confirm: [false, true] } });
    await say(session, "One.", words, "Two.");
    const before = session.session.projection().items.length;
    const outcome = await session.agent.compact();
    expect(outcome).toMatchObject({
      status: "cancelled",
      detail: "Compaction cancelled. You declined.",
    });
    expect(session.session.projection().items).toHaveLength(before);
    expect((await session.prompt("Go on.")).status).toBe("done");
    expect((await session.agent.compact()).status).toBe("compacted");
    expect(questions(session)).toHaveLength(2);
  });

  /** Some 23,000 tokens; the threshold is at 22,500. */
  async function filled(answers: boolean[]): Promise<TestSession> {
    const session = await stage({ model: { contextWindow: 30_000 }, ui: { confirm: answers } });
    await say(session, words.slice(0, 42_000), words.slice(0, 48_000));
    return session;
  }

  test("at the threshold holds until the context is a tenth larger", async () => {
    const session = await filled([false, false, true]);
    expect(questions(session)).toHaveLength(1);
    expect(questions(session)[0]?.[0]).toContain("The context is nearly full.");
    await say(session, words.slice(0, 4_000));
    expect(questions(session)).toHaveLength(1);
    await say(session, words.slice(0, 11_000));
    expect([questions(session).length, compactions(session)]).toEqual([2, 0]);
    await session.agent.compact();
    expect([questions(session).length, compactions(session)]).toEqual([3, 1]);
  });

  test("at the threshold is forgotten at another place of the tree", async () => {
    const session = await filled([false, true]);
    const at = session.session.projection().items.findLast(({ message }) => message.role === "assistant")!;
    await say(session, "More.");
    expect(questions(session)).toHaveLength(1);
    await session.agent.navigate(at.entryId);
    await say(session, "Otherwise.");
    expect([questions(session).length, compactions(session)]).toEqual([2, 1]);
  });

  test("after an overflow fails the request, as the question says; the session goes on", async () => {
    const tooLong = { error: { status: 400, message: "prompt is too long: 31000 tokens > 30000 maximum" } };
    const session = await stage({
      model: { contextWindow: 30_000 },
      settings: { compaction: { enabled: false } },
      ui: { confirm: [false, true] },
      answers: ["One.", tooLong, tooLong, "Two.", "Three."],
    });
    await say(session, words.slice(0, 80_000));
    const failed = await session.prompt("Mind the cat.");
    expect(failed).toMatchObject({ status: "failed", error: { code: "context_overflow" } });
    expect(questions(session)[0]?.[0]).toContain("Without a compaction, the request fails");
    expect((await session.prompt("Once more.")).status).toBe("done");
    expect([questions(session).length, compactions(session)]).toEqual([2, 1]);
    expect((await session.prompt("And on.")).status).toBe("done");
  });
});
