import { emptyUsage, estimateTokens, type Message } from "@bonsai-agent/messages";
import { createSession, type Session } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { isEmptySummary, joinedProse } from "../src/carry/carry-over.ts";
import { compactionSettings, digestSummariser, runCompaction, summarySections } from "../src/index.ts";
import type { SummaryKind } from "../src/summariser.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 200 }, { estimator: "chars4" });
const LOREM = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.";
const CODE = "```ts\nexport function f(a: number) {\n  return a + 1;\n}\n```";
const LOG = Array.from({ length: 60 }, (_, at) => `2024-01-01T00:00:${at} INFO request ${at} done`).join(
  "\n",
);
const IMAGE = [{ type: "image" as const, data: "AAAA", mimeType: "image/png" }];

function user(content: string | object[]): object {
  return { role: "user", content, timestamp: 1 };
}

function assistant(content: object[], stopReason = "stop"): object {
  return {
    ...{ role: "assistant", content, api: "x", provider: "x", model: "x", stopReason, timestamp: 1 },
    usage: emptyUsage(),
  };
}

const said = (text: string) => assistant([{ type: "text", text }]);
const call = (at: number) => [
  assistant(
    [
      {
        type: "toolCall",
        id: `c${at}`,
        name: at % 2 ? "read" : "bash",
        arguments: at % 2 ? { path: "a.ts" } : { command: "ls" },
      },
    ],
    "toolUse",
  ),
  {
    ...{
      role: "toolResult",
      toolCallId: `c${at}`,
      toolName: at % 2 ? "read" : "bash",
      isError: false,
      timestamp: 1,
    },
    content: [{ type: "text", text: "x".repeat(400) }],
  },
];

/** The last is what a digest says of it. */
const shapes: readonly [name: string, turn: (at: number) => object[], says: RegExp][] = [
  ["code", () => [user(CODE), said(CODE)], /agent.*: ```ts \/ export function f/],
  ["lorem ipsum", () => [user(LOREM), said(LOREM)], /agent.*: Lorem ipsum dolor/],
  ["pastes", () => [user(LOG), said(LOG)], /agent.*: \[output, 60 lines/],
  ["images", () => [user(IMAGE), said("")], /\[image\]$/m],
  ["tool calls", call, /^Summarised: \d+ messages, 0 of them from the user\.$/m],
  ["one letter each", () => [user("x"), said("y")], /agent.*: y$/m],
];

function sessionOf(turn: (at: number) => object[], turns = 40): Session {
  const session = createSession({ cwd: "/project" });
  for (let at = 0; at < turns; at += 1)
    for (const message of turn(at)) session.append({ type: "message", message: message as never });
  return session;
}

test("a digest of forty turns of few words says something, once", () =>
  everyRow(shapes)(async ([, turn, says]) => {
    const messages = Array.from({ length: 40 }, (_, at) => turn(at)).flat() as Message[];
    for (const kind of ["history", "turnPrefix", "branch"] as const) {
      const signal = new AbortController().signal;
      const request = { kind, messages, prompt: { system: "", user: "" }, maxSummaryTokens: 4_000, signal };
      const { text } = await digestSummariser().summarise(request);
      expect(isEmptySummary(text)).toBe(false);
      expect(text).toMatch(says);
      const next = await digestSummariser().summarise({ ...request, previousSummary: text });
      expect(next.text).toBe(text);
    }
  }));

test("an overflow in many turns of few words ends with less", () =>
  everyRow(shapes)(async ([, turn, says]) => {
    // Forty single letters are less than any summary.
    const session = sessionOf(turn, 400);
    const keep = compactionSettings({ keepRecentTokens: 20 }, { estimator: "chars4" });
    const before = session.projection().items.length;
    const result = await runCompaction({
      session,
      settings: keep,
      model: { contextWindow: 3_000 },
      reason: "overflow",
      digest: digestSummariser(),
    });
    expect(["compacted", "masked"]).toContain(result.status);
    if (result.status !== "compacted") return;
    expect(session.projection().items.length).toBeLessThan(before);
    expect(result.summary).toMatch(says);
  }));

const outline = (word: string) =>
  summarySections.history.map((heading) => `## ${heading}\n${word}`).join("\n\n");
const words = [
  "(none)",
  "None",
  "- none.",
  "-",
  "—",
  "*None yet*",
  "n/a",
  "N.A.",
  "(keine)",
  "Aucun.",
  "无",
  "なし",
  "（没有）",
  "- [ ] (none)",
  "",
  "1. (nothing so far)",
];

test("a model's summary whose headings hold only a word for nothing says nothing, in both parts of a split turn too", () =>
  everyRow(words)(async (word) => {
    expect(isEmptySummary(outline(word))).toBe(true);
    expect(isEmptySummary(joinedProse(outline(word), outline(word)))).toBe(true);
    expect(isEmptySummary(joinedProse(undefined, outline(word)))).toBe(true);
    const session = sessionOf(() => [user(LOREM), said(LOREM)]);
    const { rung, failures } = await runCompaction({
      session,
      settings,
      summariser: scriptedSummariser([{ text: outline(word) }]),
      digest: digestSummariser(),
    });
    expect(rung).toBe("digest");
    expect(failures).toMatchObject([{ rung: "summarise", message: "The summary is empty." }]);
  }));

test("any other words under a heading are something", () =>
  everyRow([
    "Go on.",
    "none of the doors",
    "(see a.ts)",
    "- a.ts",
    "修复登录",
    "`null` is a value of it",
    "0",
  ])((word) => {
    expect(isEmptySummary(outline(word))).toBe(false);
    expect(isEmptySummary(joinedProse(undefined, `## Request\n${word}`))).toBe(false);
  }));

test("a digest of a branch is shorter than one of a history, and one of a split turn shorter still", async () => {
  const messages = Array.from({ length: 400 }, (_, at) => [
    user(`Rename module${at}.ts to part${at}.ts because of ticket ${7_000 + at * 13}.`),
    said(`Renamed module${at}.ts; check${at} passes with code ${at * 31}.`),
  ]).flat() as Message[];
  const signal = new AbortController().signal;
  const tokensOf = async (kind: SummaryKind, maxSummaryTokens: number) => {
    const request = { kind, messages, prompt: { system: "", user: "" }, maxSummaryTokens, signal };
    return estimateTokens((await digestSummariser().summarise(request)).text);
  };
  for (const most of [2_000, 50_000]) {
    const [history, branch, turn] = [
      await tokensOf("history", most),
      await tokensOf("branch", most),
      await tokensOf("turnPrefix", most),
    ];
    expect([history <= most, history < 6_000]).toEqual([true, true]);
    expect(branch).toBeLessThan(0.75 * history);
    expect(turn).toBeLessThan(0.75 * branch);
  }
});
