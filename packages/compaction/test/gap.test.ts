import { estimateTokens } from "@bonsai-agent/messages";
import { anyText } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { gapRecord, gapText, lostCounts, lostFacts, summaryInstructions } from "../src/host.ts";
import { ran, said, toolRun } from "./record/run-messages.ts";

const messages = [
  said("user", "Move the invoices to EUR, and never round before the last step. Use the staging database."),
  ...toolRun("read", { path: "src/billing/invoice.ts" }, { output: "export const taxRate = loadTaxRate();" }),
  ...ran("git push origin release-7", "pushed release-7"),
  ...ran("pnpm test billing", "AssertionError: expected 19.99 to be 20.00", 1),
  ...ran("npm publish", "+ billing@2.4.0"),
  said("assistant", "The tax rate comes from `loadTaxRate` in src/billing/tax-table.ts."),
  said("user", "yes, go on"),
];
const record = gapRecord(undefined, messages);
const options = { maxTokens: 1_000, ending: "Search for the rest." };

test("an empty summary loses every fact", () => {
  const lost = lostFacts(record, "");
  expect(lost.irreversible.map(({ command }) => command)).toEqual([
    "git push origin release-7",
    "npm publish",
  ]);
  expect(lost.failing.map(({ key }) => key)).toEqual(["pnpm test billing"]);
  expect(lost.said.map(({ text }) => text)).toEqual([
    "Move the invoices to EUR, and never round before the last step. Use the staging database.",
  ]);
  expect(lost.terms).toEqual(expect.arrayContaining(["src/billing/invoice.ts", "loadTaxRate"]));
});

test("facts that the summary states are not lost", () => {
  const summary = [
    "The user wants to move the invoices to EUR and never round before the last step.",
    "- Ran `git push origin release-7`.",
    "- `pnpm test billing` fails: expected 19.99 to be 20.00",
    "The rate is in src/billing/invoice.ts.",
  ].join("\n");
  const lost = lostFacts(record, summary);
  expect(lost.irreversible.map(({ command }) => command)).toEqual(["npm publish"]);
  expect(lost.failing).toEqual([]);
  expect(lost.said.map(({ text }) => text)).toEqual(["Use the staging database."]);
  expect(lost.terms).not.toContain("src/billing/invoice.ts");
});

test("the text lists actions, failures, words and terms, and ends with the search", () => {
  const { text, counts } = gapText(lostFacts(record, ""), options);
  const places = [
    "git push",
    "pnpm test billing",
    "never round",
    "src/billing/invoice.ts",
    "Search for the rest.",
  ];
  expect(places.map((place) => text.indexOf(place))).toEqual(
    places.map((place) => text.indexOf(place)).toSorted((a, b) => a - b),
  );
  expect(text).toContain("AssertionError: expected 19.99 to be 20.00");
  expect(counts).toMatchObject({ irreversible: 2, failing: 1, said: 1 });
  expect(lostCounts(counts)).toMatch(
    /^2 irreversible commands, 1 failing command, 1 user message, \d terms$/,
  );
});

test("nothing lost gives an empty text", () => {
  expect(gapText(lostFacts(gapRecord(undefined, []), ""), options)).toMatchObject({ text: "", tokens: 0 });
  expect(lostCounts({ irreversible: 0, failing: 0, said: 0, terms: 0 })).toBeUndefined();
});

test("terms of the user and of calls come before equally frequent terms of results", () => {
  const { terms } = gapRecord(undefined, [
    ...toolRun("read", { path: "src/used.ts" }, { output: "src/seen.ts src/also.ts" }),
    said("user", "look at src/said.ts"),
  ]);
  const names = terms.map(({ term }) => term);
  expect(names.slice(0, 2).toSorted()).toEqual(["src/said.ts", "src/used.ts"]);
});

test("a record in two steps equals the record of all messages", () => {
  // No compaction cuts between a call and its result.
  const cuts = messages.flatMap(({ message }, at) => (message.role === "toolResult" ? [] : [at]));
  for (const cut of cuts)
    expect(gapRecord(gapRecord(undefined, messages.slice(0, cut)), messages.slice(cut))).toEqual(record);
});

test("the text keeps to its tokens and its size", () => {
  fc.assert(
    fc.property(
      fc.array(anyText(), { maxLength: 12 }),
      fc.integer({ min: 50, max: 1_500 }),
      fc.integer({ min: 100, max: 3_000 }),
      (texts, maxTokens, maxSize) => {
        const told = texts.flatMap((text, at) => [
          said("user", text),
          ...ran(`git push origin ${text}${at}`, text),
        ]);
        const sizeOf = (text: string) => Buffer.byteLength(text);
        const lost = lostFacts(gapRecord(undefined, told), "");
        const { text } = gapText(lost, { maxTokens, maxSize, sizeOf, ending: "Search." });
        expect(estimateTokens(text)).toBeLessThanOrEqual(maxTokens);
        expect(sizeOf(text)).toBeLessThanOrEqual(maxSize);
      },
    ),
  );
});

test("the instructions name the request, failures and actions within their tokens", () => {
  const text = summaryInstructions(gapRecord(record, [said("user", "Now the refunds.")]), 600);
  for (const fact of ["Now the refunds.", "pnpm test billing", "npm publish"]) expect(text).toContain(fact);
  const pushes = Array.from({ length: 80 }, (_, at) => ran(`git push origin branch-${at}`, "done")).flat();
  expect(estimateTokens(summaryInstructions(gapRecord(record, pushes), 600))).toBeLessThanOrEqual(600);
  expect(summaryInstructions(gapRecord(undefined, []), 600)).toBe("");
});
