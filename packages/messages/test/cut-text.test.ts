import fc from "fast-check";
import { expect, test } from "vitest";
import { textTail } from "../src/host.ts";
import { shortened, textHead } from "../src/index.ts";

const heads = [
  ["an emoji", "ab😀cd", 3, "ab"],
  ["a family", "ab👩‍👩‍👧cd", 6, "ab"],
  ["a skin tone", "ab👍🏽cd", 4, "ab"],
  ["an accent", "abe\u0301cd", 3, "ab"],
  ["a cut between characters", "ab😀cd", 4, "ab😀"],
  ["a text that fits", "ab😀", 4, "ab😀"],
  ["no room", "😀", 0, ""],
] as const;
test("the head of a text never ends inside a character", () => {
  expect(heads.map(([name, text, maxChars]) => [name, text, maxChars, textHead(text, maxChars)])).toEqual(
    heads,
  );
});

const tails = [
  ["an emoji", "ab😀cd", 3, "cd"],
  ["a family", "ab👩‍👩‍👧cd", 6, "cd"],
  ["an accent", "abe\u0301cd", 3, "cd"],
  ["a cut between characters", "ab😀cd", 4, "😀cd"],
  ["no room", "😀", 0, ""],
] as const;
test("the tail of a text never begins inside a character", () => {
  expect(tails.map(([name, text, maxChars]) => [name, text, maxChars, textTail(text, maxChars)])).toEqual(
    tails,
  );
});

test("every cut of a well-formed text is well-formed, fits, and is a part of the text", () => {
  const units = fc.constantFrom(
    "a",
    " ",
    "\n",
    "😀",
    "👩‍👩‍👧",
    "é",
    "e\u0301",
    "\u0301".repeat(40),
    "🇩🇪",
    "漢",
  );
  const texts = fc.array(units, { maxLength: 30 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(texts, fc.integer({ min: 0, max: 60 }), (text, maxChars) => {
      const [head, tail, short] = [
        textHead(text, maxChars),
        textTail(text, maxChars),
        shortened(text, maxChars + 1),
      ];
      expect([head, tail, short].every((each) => each.isWellFormed())).toBe(true);
      expect(Math.max(head.length, tail.length, short.length - 1)).toBeLessThanOrEqual(maxChars);
      expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
    }),
  );
});
