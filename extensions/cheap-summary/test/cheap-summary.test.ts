import type { CatalogueModel } from "@bonsai-agent/extension";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import cheapSummary from "../index.ts";

let open: TestSession | undefined;

afterEach(async () => {
  vi.unstubAllEnvs();
  await open?.close();
  open = undefined;
});

const prices = (input: number, output: number) => ({ input, output, cacheRead: 0, cacheWrite: 0 });
const dear: Partial<CatalogueModel> = { usdPerMillionTokens: prices(5, 25) };
const cheap: Partial<CatalogueModel> = { id: "cheap", usdPerMillionTokens: prices(0.5, 2) };
const words = "Words and words. ".repeat(6_000);

/** A session of an expensive model with something to compact. */
async function stage(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  open = await openTestSession({
    extensions: cheapSummary,
    ui: {},
    answers: () => "As you say.",
    model: dear,
    otherModels: [cheap],
    ...options,
  });
  if (options.withAgent !== false) for (const text of ["One.", words, "Two."]) await open.prompt(text);
  return open;
}

function asked({ requests }: TestSession): string[] {
  return requests.filter(({ purpose }) => purpose === "summary").map(({ model }) => model.id);
}

function notified({ ui }: TestSession): unknown[] {
  return ui.filter(({ method }) => method === "notify").map(({ args }) => args[0]);
}

describe("the model that is asked", () => {
  const tiny = { id: "tiny", usdPerMillionTokens: prices(0.01, 0.02) };
  const cases: readonly [about: string, others: Partial<CatalogueModel>[], expected: string][] = [
    [
      "the cheapest of all that are fit",
      [cheap, tiny, { id: "middling", usdPerMillionTokens: prices(1, 5) }],
      "tiny",
    ],
    ["one that is a fifth of the price", [{ id: "fifth", usdPerMillionTokens: prices(1, 5) }], "fifth"],
    ["not one that is hardly cheaper", [{ id: "half", usdPerMillionTokens: prices(2.5, 12) }], "test"],
    ["not one whose window is too small", [{ ...tiny, contextWindow: 30_000 }, cheap], "cheap"],
    ["not one whose window nobody knows", [{ ...tiny, contextWindow: undefined }, cheap], "cheap"],
    ["not one that cannot think, where the session's can", [{ ...tiny, reasoning: false }, cheap], "cheap"],
    ["not one of unknown price", [{ ...tiny, usdPerMillionTokens: undefined }, cheap], "cheap"],
    ["not one that costs nothing by the list", [{ ...tiny, usdPerMillionTokens: prices(0, 0) }], "test"],
    ["not one of another provider", [{ ...tiny, provider: "elsewhere" }], "test"],
    ["not one of another maker", [{ ...tiny, id: "maker/tiny" }], "test"],
    ["not another variant", [{ ...tiny, id: "tiny:batch" }], "test"],
  ];
  test.each(cases)("%s", async (_about, otherModels, expected) => {
    const session = await stage({ otherModels });
    expect((await session.agent.compact()).status).toBe("compacted");
    expect(asked(session)).toEqual([expected]);
  });

  test("of a provider of many makers is of the same one, in the same variant", async () => {
    const session = await stage({
      model: { ...dear, id: "maker/large:fast" },
      otherModels: [
        { id: "other/tiny:fast", usdPerMillionTokens: prices(0.01, 0.02) },
        { id: "maker/tiny", usdPerMillionTokens: prices(0.01, 0.02) },
        { id: "maker/small:fast", usdPerMillionTokens: prices(0.5, 2) },
      ],
    });
    await session.agent.compact();
    expect(asked(session)).toEqual(["maker/small:fast"]);
  });

  const named = { id: "named", usdPerMillionTokens: prices(9, 90) };
  test.each(["scripted/named", "named"])("is the one that the flag names: %s", async (name) => {
    const session = await stage({ otherModels: [cheap, named], flags: { "summary-model": name } });
    await session.agent.compact();
    expect(asked(session)).toEqual(["named"]);
  });

  test("is the one that the environment names; the flag counts more", async () => {
    vi.stubEnv("BONSAI_SUMMARY_MODEL", "scripted/named");
    const session = await stage({ otherModels: [cheap, named] });
    await session.agent.compact();
    expect(asked(session)).toEqual(["named"]);
    await session.close();
    const other = await stage({ otherModels: [cheap, named], flags: { "summary-model": "cheap" } });
    await other.agent.compact();
    expect(asked(other)).toEqual(["cheap"]);
  });

  test.each([
    ["scripted/nobody", "scripted/nobody is not a known model"],
    ["anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5 has no API key"],
  ])(
    "is the session's own where it cannot be asked, which is notified at the start: %s",
    async (name, problem) => {
      const session = await stage({ flags: { "summary-model": name } });
      const expected = `cheap-summary: ${problem}. Using the default summariser instead.`;
      expect(notified(session)).toEqual([expected]);
      expect((await session.agent.compact()).status).toBe("compacted");
      expect(asked(session)).toEqual(["test"]);
      expect(notified(session)).toEqual([expected, expected]);
    },
  );
});

describe("a compaction", () => {
  test("is notified with its price, which is counted in the entry's usage", async () => {
    const usage = { input: 50_000, output: 1_000, cacheRead: 0, cacheWrite: 0 };
    const session = await stage({ summaries: () => ({ text: sections, usage }) });
    await session.agent.compact({ focus: "the door" });
    expect(notified(session)).toEqual(["cheap-summary: scripted/cheap wrote the summary for $0.0270."]);
    expect(session.session.projection().compaction).toMatchObject({
      fromHook: true,
      usage: { input: 50_000, cost: { total: expect.closeTo(0.027) } },
    });
    expect(JSON.stringify(session.requests.at(-1)?.messages)).toContain("the door");
  });

  test("falls back to the usual summary, which is notified; what was paid in vain is counted", async () => {
    const usage = { input: 50_000, output: 0, cacheRead: 0, cacheWrite: 0 };
    const session = await stage({
      summaries: ({ model }) => ({ text: model.id === "cheap" ? "I would rather not." : sections, usage }),
    });
    expect((await session.agent.compact()).status).toBe("compacted");
    expect(asked(session)).toEqual(["cheap", "test"]);
    expect(notified(session)).toEqual([
      expect.stringMatching(
        /^cheap-summary: using the default summariser instead\. scripted\/cheap made no summary: ./,
      ),
    ]);
    const { compaction } = session.session.projection();
    expect(compaction?.fromHook).toBeUndefined();
    expect(compaction?.usage?.cost.total).toBeCloseTo(0.275);
  });

  test("updates the earlier summary the second time", async () => {
    const session = await stage();
    for (const _time of [1, 2]) {
      await session.prompt(words);
      await session.prompt("Go on.");
      expect((await session.agent.compact()).status).toBe("compacted");
    }
    expect(asked(session)).toEqual(["cheap", "cheap"]);
    expect(JSON.stringify(session.requests.at(-1)?.messages)).toContain("previous-summary");
  });

  test("that is cancelled while the cheap model writes changes nothing, and asks nobody else", async () => {
    const session = await stage({
      summaries: () => {
        session.agent.cancelCompaction();
        return sections;
      },
    });
    expect((await session.agent.compact()).status).toBe("cancelled");
    expect(asked(session)).toEqual(["cheap"]);
    expect(session.session.projection().compaction).toBeUndefined();
    expect([notified(session), session.notices]).toEqual([[], []]);
  });

  test("is a notice where there is no user interface", async () => {
    open = await openTestSession({
      extensions: cheapSummary,
      answers: () => "As you say.",
      model: dear,
      otherModels: [cheap],
    });
    for (const text of ["One.", words, "Two."]) await open.prompt(text);
    await open.agent.compact();
    expect(open.notices).toMatchObject([{ level: "info", code: "extension_message" }]);
  });
});

describe("a branch that is left", () => {
  async function left(session: TestSession, options: object = { summarise: true }) {
    const [first] = session.session.projection().items;
    await session.prompt("Another way.");
    return session.agent.navigate(first!.entryId, options);
  }

  test("is summarised by the cheap model, with the focus that was asked for", async () => {
    const session = await stage();
    const { summaryEntry } = await left(session, { summarise: true, focus: "the window" });
    expect(asked(session)).toEqual(["cheap"]);
    expect(summaryEntry).toMatchObject({ fromHook: true, usage: { input: expect.any(Number) } });
    expect(JSON.stringify(session.requests.at(-1)?.messages)).toContain("the window");
  });

  test("is summarised by the instructions of an extension before it", async () => {
    const session = await stage({
      extensions: [
        (bonsai) => {
          bonsai.on("session_before_tree", () => ({
            customInstructions: "Write a haiku.",
            replaceInstructions: true,
          }));
        },
        cheapSummary,
      ],
      summaries: () => "Old pond.",
    });
    expect((await left(session)).summaryEntry?.summary).toContain("Old pond.");
    expect(asked(session)).toEqual(["cheap"]);
  });

  test("gets the usual summary where the cheap model fails", async () => {
    const session = await stage({
      summaries: ({ model }) => (model.id === "cheap" ? { error: { status: 400, message: "no" } } : sections),
    });
    expect((await left(session)).summaryEntry?.fromHook).toBeUndefined();
    expect(asked(session)).toEqual(["cheap", "test"]);
    expect(notified(session)).toEqual([expect.stringContaining("using the default summariser instead")]);
  });

  test("gets none where the user wants none", async () => {
    const session = await stage();
    expect((await left(session, {})).summaryEntry).toBeUndefined();
    expect(asked(session)).toEqual([]);
  });

  test("is summarised in the session commands too, where no agent is", async () => {
    const user = { role: "user" as const, content: "Mend the door.", timestamp: 1 };
    const session = await stage({ withAgent: false, history: [user] });
    const signal = new AbortController().signal;
    const preparation = {
      targetId: null,
      oldLeafId: session.session.leafId,
      commonAncestorId: null,
      entriesToSummarize: session.session.path(),
      userWantsSummary: true,
    };
    const payload = { type: "session_before_tree" as const, preparation, signal };
    const { result } = await session.lifecycle.decide("session_before_tree", payload);
    expect(result?.summary?.summary).toContain("Goal");
    expect(asked(session)).toEqual(["cheap"]);
  });
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
