import { chars4Estimator } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { type SummaryRequest, summarySections } from "../src/index.ts";
import { validateAnswer } from "../src/ladder/ask.ts";
import type { SummaryKind } from "../src/summariser.ts";

function check(text: string, kind: SummaryKind = "history", expectSections = true): string {
  const request: SummaryRequest = {
    kind,
    messages: [],
    prompt: { system: "", user: "" },
    maxSummaryTokens: 1_000,
    signal: new AbortController().signal,
  };
  const answer = { text, stopReason: "stop" as const };
  return validateAnswer(request, answer, { estimator: chars4Estimator, expectSections });
}

const headed = (headings: readonly string[], size = 10) =>
  headings.map((heading) => `## ${heading}\n${"x".repeat(size)}`).join("\n\n");
const asked = summarySections.history;

test("four of the asked-for sections are enough, three are not", () => {
  expect(check(`\n${headed(asked.slice(0, 4))}  `)).toBe(headed(asked.slice(0, 4)));
  expect(() => check(headed(asked.slice(0, 3)))).toThrow(
    `Sections are missing from the summary: ${asked.slice(3).join(", ")}`,
  );
});

test("without a goal no other sections help, and headings of its own do not count", () => {
  expect(() => check(headed(asked.slice(1)))).toThrow("Sections are missing from the summary: Goal.");
  expect(() => check(headed(["Goal", "Weather", "Mood", "Music", "Food"]))).toThrow(
    "Sections are missing from the summary:",
  );
});

test("the sections of a turn prefix are free, but there must be one; own instructions ask for none", () => {
  expect(check("## Anything\nat all", "turnPrefix")).toContain("at all");
  expect(() => check("nothing in order", "turnPrefix")).toThrow("Sections are missing from the summary:");
  expect(check("as the user asked", "branch", false)).toBe("as the user asked");
});

test("an answer may be twice the size that was asked for", () =>
  everyRow([
    [6_000, true],
    [6_004, false],
  ])(([length, accepted]) => {
    const text = headed(asked.slice(0, 4));
    const filled = text + "y".repeat(length - text.length);
    if (accepted) expect(check(filled)).toBe(filled);
    else
      expect(() => check(filled)).toThrow("The summary is too long: ~1,501 tokens instead of at most 1,000.");
  }));

test("accepts an extract within its own bound even if the model counts more tokens", () => {
  const request: SummaryRequest = {
    kind: "history",
    messages: [],
    prompt: { system: "", user: "" },
    maxSummaryTokens: 1_000,
    signal: new AbortController().signal,
  };
  const extract = "- `npm test`: expected 1 to be 2\n".repeat(200);
  const answer = { text: extract, stopReason: "stop" as const };
  const how = { estimator: chars4Estimator, expectSections: false };
  expect(validateAnswer(request, answer, { ...how, isExtract: true })).toBe(extract.trim());
  expect(() => validateAnswer(request, answer, how)).toThrow("too long");
});

const tags = ["think", "thinking", "analysis", "tool_call"];

test("a draft in tags is no part of the summary and has no sections", () =>
  everyRow(tags)((tag) => {
    const sound = headed(asked);
    expect(check(`<${tag}>\n${headed(asked)}\n</${tag}>\n\n${sound}`)).toBe(sound);
    expect(() => check(`<${tag}>\n${sound}\n</${tag}>\n\nThe work goes on.`)).toThrow("Sections are missing");
    expect(() => check(`<${tag}>\n${sound}\n</${tag}>`)).toThrow("only thinking or tool calls");
  }));

test("a draft before a lone closing tag is no part of the summary", () => {
  const sound = headed(asked);
  expect(check(`${headed(asked)}\n</think>\n\n${sound}`)).toBe(sound);
  expect(() => check(`${sound}\n</think>\n`)).toThrow("only thinking or tool calls");
});
