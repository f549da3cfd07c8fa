import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { recordAfter } from "../../src/carry/record.ts";
import { markReplaced } from "../../src/record/replaced.ts";
import { said } from "./run-messages.ts";

/** Each text is a message of the user; one that begins with "agent: " is a statement of the agent. */
function marked(...texts: string[]): string[] {
  return markReplaced(
    texts.map((text, at) => ({
      text: text.replace(/^agent: /, ""),
      turn: at + 1,
      isUser: !text.startsWith("agent: "),
    })),
  );
}

test("marks the old value if the user repeats it beside a new one", () =>
  everyRow([
    ["Keep the log for 14 days.", "not 14, make it 30 days"],
    ["der cache soll 10 minuten halten", "10 minuten sind zu lang, mach 2"],
    ["Branch off from release/4.2.", "release/4.3, not release/4.2"],
    ["プールは 1024 に増やす", "1024 は多すぎる。768 で"],
  ])(([before, after]) => {
    const [first, second] = marked(before, after);
    expect(first).toBe(`${before.replace(/\.$/, "")} [replaced in 2]${before.endsWith(".") ? "." : ""}`);
    expect(second).toBe(after);
  }));

test("marks an amount if a later sentence with mostly the same words has another one", () => {
  const [first] = marked("agent: The image has 412 MB.", "agent: The image has 138 MB now.");
  expect(first).toBe("The image has 412 MB [replaced in 2].");
});

test("marks a sentence if a later one differs only in its last part, after words that no other sentence has", () =>
  everyRow([
    ["The reviewer for billing is Ana.", "The reviewer for billing is Ben."],
    [
      "Der Ansprechpartner für Rechnungen ist Frau Krüger.",
      "Der Ansprechpartner für Rechnungen ist Herr Yilmaz.",
    ],
    ["発表の担当者は田中さんです。", "発表の担当者は佐藤さんです。"],
  ])(([before, after]) => {
    expect(marked(before, "Please go on.", after)[0]).toContain("[replaced in 3]");
  }));

test("marks no task that is like a later one", () =>
  everyRow([
    ["Describe the retry endpoint in the guide.", "Describe the retry endpoint in the wiki."],
    ["The reviewer for billing is Ana.", "The reviewer for search is Ben."],
  ])(([before, after]) => {
    const answer = "agent: The retry endpoint is described, and the reviewer for billing knows.";
    expect(marked(before, answer, after)[0]).toBe(before);
  }));

test("marks no value that a later statement only repeats, explains or asks about", () =>
  everyRow([
    ["Keep the log for 14 days.", "The 14 days are for the audit."],
    ["Keep the log for 14 days.", "not 14, would 30 days do?"],
    ["Keep the log for 14 days.", "The build needs 7 days of cache."],
    ["Keep the log for 14 days.", "! grep days app.log\n14 days, 30 days"],
    ["Use port 8080.", "On 8080 runs src/web/server.ts."],
    ["Keep the log for 14 days.", "agent: I keep it for 30 days instead of 14."],
  ])(([before, later]) => {
    expect(marked(before, later)).toEqual([before, later.replace("agent: ", "")]);
  }));

test("marks the user's own words rather than the agent's report about them", () => {
  const texts = marked("Use 1024 slots.", "agent: The old code had 1024 slots.", "1024 is too much, use 768");
  expect(texts.slice(0, 2)).toEqual(["Use 1024 slots [replaced in 3].", "The old code had 1024 slots."]);
});

test("marks a value once, and keeps the mark in the next record", () => {
  const first = recordAfter({
    messages: [said("user", "Keep the log for 14 days.", "a"), said("user", "not 14, make it 30 days", "b")],
    wordsTokens: 4_000,
  });
  const messages = [said("user", "hm, not 30, make it 60 days", "c")];
  const next = recordAfter({ earlier: first, messages, wordsTokens: 4_000 });
  expect(next.words.said.map(({ text }) => text)).toEqual([
    "Keep the log for 14 days [replaced in 2].",
    "not 14, make it 30 days [replaced in 3]",
    "hm, not 30, make it 60 days",
  ]);
});

test("marks a value that a kept message replaces", () => {
  const { words } = recordAfter({
    messages: [said("user", "Keep the log for 14 days.", "a")],
    following: [said("user", "not 14, make it 30 days", "b")],
    wordsTokens: 4_000,
  });
  expect(words.said.map(({ text }) => text)).toEqual(["Keep the log for 14 days [replaced in 2]."]);
});
