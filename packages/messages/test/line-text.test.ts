import fc from "fast-check";
import { expect, test } from "vitest";
import { callParts } from "../src/index.ts";
import { fitPath, lineText } from "../src/text/screen-text.ts";

const cuts = [
  ["short enough", 20, "short enough"],
  ["one two three four", 12, "one two…"],
  ["one two three four", 14, "one two three…"],
  ["unbroken-words-have-no-better-place", 12, "unbroken-wo…"],
  ["a mention_of_one_very_long_name here", 20, "a mention_of_one_ve…"],
] as const;
test("cuts a text between words", () => {
  expect(cuts.map(([text, max]) => [text, max, lineText([{ text }], max)])).toEqual(cuts);
});

test("a path loses its first folders, so that the file's name stays", () => {
  const file = "/home/ana/shop/packages/services/pricing/discount-rules.ts";
  expect(lineText(callParts("read", { path: file }), 41)).toBe("read …/services/pricing/discount-rules.ts");
  expect(lineText(callParts("grep", { pattern: "total", path: file }), 41)).toBe(
    "grep total in …/pricing/discount-rules.ts",
  );
  expect(fitPath(file, 30)).toBe("…/pricing/discount-rules.ts");
  expect(fitPath("discount-rules-of-the-shop.ts", 12)).toBe("…the-shop.ts");
});

test("no line is longer than asked, and each that is cut has an ellipsis", () => {
  const part = fc.record({ text: fc.string({ unit: "grapheme", maxLength: 80 }), isPath: fc.boolean() });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), fc.integer({ min: 30, max: 120 }), (parts, max) => {
      const whole = parts.map(({ text }) => text).join("");
      const line = lineText(parts, max);
      expect([...line].length).toBeLessThanOrEqual(max);
      if (line !== whole) expect(line).toContain("…");
    }),
    { numRuns: 200 },
  );
});
