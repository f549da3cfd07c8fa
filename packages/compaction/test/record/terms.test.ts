import { estimateTokens } from "@bonsai-agent/messages";
import { adversarialTexts, everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { termLines } from "../../src/carry/loss.ts";
import { termsAfter } from "../../src/carry/record.ts";
import { emptyRecord, type TermIndex } from "../../src/details.ts";
import { termsIn } from "../../src/record/sentence.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { said, toolRun } from "./run-messages.ts";

test("finds the terms of a text", () =>
  everyRow<[text: string, expected: string[]]>([
    ["see src/a.ts, ./lib/b_c.py and /etc/hosts.", ["src/a.ts", "lib/b_c.py", "etc/hosts"]],
    ["call parseHeader(), obj.method, snake_case", ["parseHeader", "obj.method", "snake_case"]],
    ["since v2.1.0 on port 8443, issue #412", ["v2.1.0", "8443", "#412"]],
    ["commit a1b2c3d4e5 and 0xdeadbeef01", ["a1b2c3d4e5", "0xdeadbeef01"]],
    ["An ordinary sentence. It names nothing at all...", []],
    ["in node_modules, i.e. everywhere", []],
  ])(([text, expected]) => {
    expect([...termsIn(text)]).toEqual(expected);
  }));

test("a term ends where another script begins", () =>
  everyRow([
    ["请修改config.yml文件，端口8443。", ["config.yml", "8443"]],
    ["src/a.tsを直してください", ["src/a.ts"]],
    ["ファイル「src/b.ts」とparseHeaderの件", ["src/b.ts", "parseHeader"]],
    ["config.yml을 고쳐 주세요", ["config.yml"]],
    ["عدّل الملف src/c.ts، ثم config.yml.", ["src/c.ts", "config.yml"]],
    ["исправь src/d.ts, порт 8080!", ["src/d.ts", "8080"]],
  ])(([text, expected]) => {
    expect([...termsIn(text)]).toEqual(expected);
  }));

test("law: a text contains each of its terms unchanged, and a term contains itself as a term", () => {
  const part = fc.oneof(
    fc.constantFrom(
      "src/a.ts",
      "parseHeader",
      "日本",
      "請",
      "تابع",
      "8443",
      " ",
      ".",
      "/",
      "-",
      "_",
      "@",
      "é",
      "ß",
      "\n",
    ),
    fc.string({ unit: "grapheme", maxLength: 6 }),
  );
  const law = fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
    const text = parts.join("");
    for (const term of termsIn(text)) {
      expect(text).toContain(term);
      expect(term).not.toMatch(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Arabic}\s]/u);
      expect([...termsIn(term)]).toEqual([term]);
    }
  });
  fc.assert(law);
});

// A reader that starts over at each character exceeds the time limit of a test.
test("law: a long run of one unit has few terms", () => {
  fc.assert(
    fc.property(fc.constantFrom(...adversarialTexts()), ([, text]) => {
      expect(termsIn(text).size).toBeLessThan(60);
    }),
  );
});

const user = (text: string, entryId: string) => said("user", text, entryId);
const agent = (text: string, entryId: string) => said("assistant", [{ type: "text", text }], entryId);
const ranked = (...messages: SourceMessage[]) =>
  termsAfter(emptyRecord.terms, messages).uses.map(({ term }) => term);

test("terms of more messages, and shorter terms, rank higher", () => {
  expect(ranked(agent("src/a.ts src/b.ts", "e1"), agent("src/b.ts", "e2"))).toEqual(["src/b.ts", "src/a.ts"]);
  expect(ranked(agent("src/a/very/long/path/of/a/file.ts src/b.ts", "e1"))[0]).toBe("src/b.ts");
  expect(ranked(agent("src/b.ts src/b.ts", "e1"), user("src/a.ts", "e2"))).toEqual(["src/a.ts", "src/b.ts"]);
  const [call] = toolRun("read", { path: "src/deep.ts", more: { at: ["src/other.ts"] } });
  expect(ranked(call!)).toEqual(["src/deep.ts", "src/other.ts"]);
});

test("a number found only in a result is no term", () => {
  const [, result] = toolRun("bash", { command: "x" }, { output: "took 31415 ms in src/a.ts" });
  expect(ranked(result!)).toEqual(["src/a.ts"]);
});

const word = fc.constantFrom(
  "src/a.ts",
  "src/b/c.ts",
  "parseHeader",
  "v2.1.0",
  "8443",
  "config.yml",
  "hello",
  "go on",
);
const message = fc
  .tuple(fc.constantFrom("user" as const, "assistant" as const), fc.array(word, { maxLength: 5 }), fc.nat(30))
  .map(([role, words, at]) =>
    said(role, role === "user" ? words.join(" ") : [{ type: "text", text: words.join(" ") }], `e${at}`),
  );

test("law: the index is the same for parts and for the whole", () => {
  const law = fc.property(fc.array(message, { maxLength: 20 }), fc.nat(20), (messages, cut) => {
    const inParts = termsAfter(termsAfter(emptyRecord.terms, messages.slice(0, cut)), messages.slice(cut));
    expect(inParts).toEqual(termsAfter(emptyRecord.terms, messages));
  });
  fc.assert(law);
});

test("law: the lines fit, name each term once, and skip visible terms", () => {
  const many = fc.array(fc.tuple(fc.nat(400), fc.nat(9)), { maxLength: 120 });
  const law = fc.property(many, fc.integer({ min: 0, max: 500 }), fc.nat(400), (terms, maxTokens, shown) => {
    const messages = terms.map(([name, at]) => user(`look at src/file-${name}.ts`, `e${at}`));
    const index = termsAfter(emptyRecord.terms, messages);
    const isShown = (term: string) => term === `src/file-${shown}.ts`;
    const lines = termLines(index, maxTokens, isShown);
    expect(estimateTokens(lines.join("\n"))).toBeLessThanOrEqual(maxTokens);
    const named = lines.slice(1).flatMap((line) => line.split(", "));
    expect(new Set(named).size).toBe(named.length);
    for (const term of named) {
      expect(isShown(term)).toBe(false);
      expect(index.uses.some((use) => use.term === term)).toBe(true);
    }
  });
  fc.assert(law);
});

test("does not name a part of a named longer term", () => {
  const index = termsAfter(emptyRecord.terms, [
    user("src/deep/file.ts", "e1"),
    user("src/deep/file.ts", "e2"),
    user("deep/file.ts", "e3"),
  ]);
  expect(
    termLines(index, 500, () => false)
      .join("\n")
      .split("deep/file.ts"),
  ).toHaveLength(2);
});

test("sound terms of a damaged list are read", () => {
  const damaged = [
    undefined,
    null,
    {},
    { role: "user" },
    { role: "assistant", content: 7 },
    { role: "toolResult" },
    { role: "bashExecution" },
  ];
  const messages = damaged.map((each) => ({ message: each as never }));
  const index: TermIndex = termsAfter(emptyRecord.terms, [...messages, user("src/a.ts", "e1")]);
  expect(index.uses.map(({ term }) => term)).toEqual(["src/a.ts"]);
});
