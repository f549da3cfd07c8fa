import type { Message } from "@bonsai-agent/messages";
import { createSession, type Session } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compactionSettings, planCompaction, readContext, runCompaction } from "../src/index.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 20 });
const LARGER = /a summary would be larger than the ~[\d,]+ tokens? that it replaces\.$/;

const words = (count: number, seed: number) =>
  Array.from({ length: count }, (_, at) => `word${(at * 7 + seed) % 97} src/part${(at + seed) % 5}.ts`).join(
    " ",
  );

/** A small session of talk, reads, edits, failing commands and to-dos. */
function smallSession(turns: readonly { asked: number; said: number; printed: number }[]): Session {
  const session = createSession({ cwd: "/project" });
  const append = (message: object) =>
    session.append({ type: "message", message: message as Message & { role: "user" } });
  const about = { api: "scripted", provider: "p", model: "m", usage: undefined, timestamp: 0 };
  for (const [at, { asked, said, printed }] of turns.entries()) {
    append({ role: "user", content: `Please look at ${words(asked, at)}.`, timestamp: 0 });
    const id = `call-${at}`;
    const call = { type: "toolCall", id, name: "bash", arguments: { command: `npm test part${at}` } };
    append({ ...about, role: "assistant", content: [call], stopReason: "toolUse" });
    const content = [{ type: "text", text: `FAIL ${words(printed, at)}` }];
    append({
      role: "toolResult",
      toolCallId: id,
      toolName: "bash",
      content,
      isError: at % 2 === 0,
      timestamp: 0,
    });
    append({
      ...about,
      role: "assistant",
      content: [{ type: "text", text: words(said, at) }],
      stopReason: "stop",
    });
  }
  return session;
}

const turn = fc.record({ asked: fc.nat(40), said: fc.nat(60), printed: fc.nat(120) });
const makers = fc.constantFrom("digest", "model");

test("a small session never grows by more than a model's headings, and a digest never grows it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 6 }), makers, async (turns, maker) => {
      const session = smallSession(turns);
      const summariser = maker === "model" ? scriptedSummariser() : undefined;
      const { status, tokensBefore, tokensAfter, detail } = await runCompaction({
        session,
        settings,
        summariser,
      });
      if (status === "compacted")
        expect(tokensAfter).toBeLessThanOrEqual(tokensBefore + (maker === "model" ? 500 : -1));
      else {
        expect([status, detail]).toEqual([
          "nothing-to-compact",
          expect.stringMatching(/^Nothing to compact: /),
        ]);
        expect(session.path().every(({ type }) => type === "message")).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

describe("the carry-over of a short span", () => {
  const blocks = (summary: string) => [...summary.matchAll(/^<([a-z-]+)>$/gm)].map(([, tag]) => tag);

  test("pins, the latest request and the user's words, and nothing else", async () => {
    const session = smallSession([
      { asked: 20, said: 60, printed: 100 },
      { asked: 20, said: 60, printed: 100 },
    ]);
    const { status, summary = "" } = await runCompaction({
      session,
      settings: compactionSettings({ keepRecentTokens: 0 }),
      summariser: scriptedSummariser(),
      pinned: ["Never touch main."],
    });
    expect(status).toBe("compacted");
    expect(blocks(summary).toSorted()).toEqual(["latest-request", "pinned", "user-words"]);
  });

  test("the user's words go where they do not fit", async () => {
    const session = smallSession([
      { asked: 40, said: 0, printed: 0 },
      { asked: 40, said: 0, printed: 0 },
    ]);
    const long = scriptedSummariser([(request) => ({ text: `${wellFormed(request)}\n${words(60, 0)}` })]);
    const { status, summary = "" } = await runCompaction({ session, settings, summariser: long });
    expect(status).toBe("compacted");
    expect(blocks(summary)).not.toContain("user-words");
  });
});

test("a small session shrinks with the digest", () =>
  everyRow([1_052, 1_200])(async (tokens) => {
    const turns: Parameters<typeof smallSession>[0][number][] = [];
    const size = () => readContext({ session: smallSession(turns), estimator: settings.estimator }).tokens;
    while (size() < tokens) turns.push({ asked: 3, said: 8, printed: 6 });
    const session = smallSession(turns);
    const { status, tokensBefore, tokensAfter } = await runCompaction({ session, settings });
    expect(status).toBe("compacted");
    expect(tokensAfter).toBeLessThan(tokensBefore);
  }));

test("a tiny session says that a summary would be larger, also in the plan of one that is recent", async () => {
  const session = smallSession([{ asked: 1, said: 1, printed: 1 }]);
  expect(await runCompaction({ session, settings })).toMatchObject({
    status: "nothing-to-compact",
    detail: expect.stringMatching(LARGER),
  });
  const recent = planCompaction({ session, settings: compactionSettings() });
  expect([recent.detail, recent.isAllRecent]).toEqual([expect.stringMatching(LARGER), undefined]);
});

test("an empty session says that it has no messages", async () => {
  const session = createSession({ cwd: "/project" });
  expect((await runCompaction({ session, settings })).detail).toBe(
    "Nothing to compact: the session has no messages.",
  );
});
