import { estimateTokens, type Message, tokenEstimator } from "@bonsai-agent/messages";
import { anyText } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { sampleTexts } from "./sample-texts.ts";

describe("byScript against o200k", () => {
  const samples = sampleTexts();

  it("is near enough for each sample, and never grossly low", () => {
    for (const { name, text, prose } of samples) {
      const ratio = estimateTokens(text) / encode(text).length;
      const tolerance = prose ? 0.15 : 0.25;
      expect.soft(ratio, name).toBeGreaterThan(1 - tolerance);
      expect.soft(ratio, name).toBeLessThan(1 + tolerance);
    }
  });

  it("covers prose in many scripts, code in many languages, logs, data and noise", () => {
    const kinds = samples.map(({ name }) => name.split("-")[0]);
    const count = (kind: string) => kinds.filter((each) => each === kind).length;
    expect(count("prose")).toBeGreaterThanOrEqual(11);
    expect(count("code")).toBeGreaterThanOrEqual(6);
    expect(count("noise")).toBeGreaterThanOrEqual(5);
    expect(kinds).toEqual(expect.arrayContaining(["log", "json", "markdown", "listing"]));
  });

  it("is near on all of them together, in any order", () => {
    const text = samples.map((sample) => sample.text).join("\n");
    const ratio = estimateTokens(text) / encode(text).length;
    expect(ratio).toBeGreaterThan(0.95);
    expect(ratio).toBeLessThan(1.1);
  });
});

describe("byScript", () => {
  const counts = [
    ["", 0],
    ["a", 1],
    [" ", 1],
    ["\n", 2],
    ["hello", 1],
    ["hello world", 2],
    ["getOrLoad", 3],
    ["1234567", 3],
    ["木", 2],
    ["🌱", 3],
  ] as const;
  it("counts short texts", () => {
    expect(counts.map(([text]) => [text, estimateTokens(text)])).toEqual(counts);
  });

  it("knows noise: an id costs more than a name of the same length", () => {
    expect(estimateTokens("9f86d081884c7d659a2feaa0c55ad015")).toBeGreaterThan(18);
    expect(estimateTokens("retrieveConfigurationFromStorage")).toBeLessThan(12);
    expect(estimateTokens("src/plants/catalogue/sorted/names")).toBeLessThan(14);
  });

  it("counts long rules and indentation as little", () => {
    expect(estimateTokens("=".repeat(80))).toBeLessThan(8);
    expect(estimateTokens("─".repeat(80))).toBeLessThan(8);
    expect(estimateTokens(`${" ".repeat(40)}x`)).toBeLessThan(4);
  });

  const text = fc.oneof(
    anyText(),
    fc.string({ unit: "grapheme" }),
    fc
      .array(
        fc.constantFrom("word", "Word", "42", " ", "\n", ".", "//", "木", "한", "🌱", "\ud800", "q8Zk2W"),
      )
      .map((parts) => parts.join("")),
  );

  it("is total: any string has a finite count, and only the empty one has none", () => {
    fc.assert(
      fc.property(text, (sample) => {
        const tokens = estimateTokens(sample);
        expect(Number.isSafeInteger(tokens)).toBe(true);
        expect(tokens > 0).toBe(sample !== "");
        expect(tokens).toBeLessThanOrEqual(Math.ceil(sample.length * 2.3));
      }),
    );
  });

  it("adds up: the parts of a text count about what the whole does", () => {
    const piece = fc.constantFrom(
      "A sentence about harbours. ",
      "const x = 12;\n",
      "世界の終わり。",
      "мир и труд ",
      "[1, 2, 3]\n",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.array(piece, { maxLength: 40 }), (left, right) => {
        const [a, b] = [left.join(""), right.join("")];
        expect(Math.abs(estimateTokens(a + b) - estimateTokens(a) - estimateTokens(b))).toBeLessThanOrEqual(
          4,
        );
      }),
    );
  });

  it("counts messages like any estimator", () => {
    const image = { type: "image", data: "", mimeType: "image/png" };
    const message = { role: "user", content: [image, { type: "text", text: "hello world" }], timestamp: 0 };
    expect(tokenEstimator.message(message as Message)).toBe(1202);
  });
});
