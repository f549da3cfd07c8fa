import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatSize, truncateHead, truncateLine, truncateTail } from "../src/tools/truncate.ts";

const texts = fc.array(fc.string({ unit: fc.constantFrom("a", " ", "é", "漢", "😀", "\n") }), {
  maxLength: 12,
});
const limits = fc.record({
  maxLines: fc.integer({ min: 0, max: 8 }),
  maxBytes: fc.integer({ min: 0, max: 40 }),
});

test("the head is whole lines from the start, within both limits, and as much as fits", () => {
  fc.assert(
    fc.property(texts, limits, (parts, { maxLines, maxBytes }) => {
      const text = parts.join("\n");
      const lines = text.split("\n");
      const cut = truncateHead(text, { maxLines, maxBytes });
      expect(lines.slice(0, cut.outputLines).join("\n")).toBe(cut.content);
      expect(cut.outputLines).toBeLessThanOrEqual(maxLines);
      expect(Buffer.byteLength(cut.content)).toBeLessThanOrEqual(maxBytes);
      expect(cut.truncated).toBe(cut.outputLines < lines.length);
      const more = lines.slice(0, cut.outputLines + 1).join("\n");
      if (cut.truncatedBy === "bytes") expect(Buffer.byteLength(more)).toBeGreaterThan(maxBytes);
    }),
  );
});

test("the tail ends the text, within both limits, and cuts no character", () => {
  fc.assert(
    fc.property(texts, limits, (parts, { maxLines, maxBytes }) => {
      const text = parts.join("\n");
      const cut = truncateTail(text, { maxLines, maxBytes });
      expect(text.endsWith(cut.content)).toBe(true);
      expect(cut.outputLines).toBeLessThanOrEqual(Math.max(maxLines, cut.lastLinePartial ? 1 : 0));
      expect(cut.outputBytes).toBeLessThanOrEqual(maxBytes);
      expect(cut.content.isWellFormed()).toBe(true);
      if (!cut.truncated) expect(cut.content).toBe(text);
    }),
  );
});

test.each([
  [{ maxLines: 2 }, "a\nb", "lines"],
  [{ maxBytes: 3 }, "a\nb", "bytes"],
  [{}, "a\nb\nc", null],
] as const)("with %j the head of three lines is %j", (options, content, truncatedBy) => {
  expect(truncateHead("a\nb\nc", options)).toMatchObject({
    content,
    truncatedBy,
    totalLines: 3,
    totalBytes: 5,
  });
});

test("one line that is too long leaves no head, and its end for a tail", () => {
  expect(truncateHead("abcdef\nx", { maxBytes: 4 })).toMatchObject({
    content: "",
    firstLineExceedsLimit: true,
  });
  expect(truncateTail("x\nabcdef", { maxBytes: 4 })).toMatchObject({
    content: "cdef",
    lastLinePartial: true,
  });
});

test("lines are marked where they are cut, and sizes are for people", () => {
  expect(truncateLine("abc", 3)).toEqual({ text: "abc", wasTruncated: false });
  expect(truncateLine("abcd", 3)).toEqual({ text: "abc... [truncated]", wasTruncated: true });
  expect([812, 4300, 1_600_000].map(formatSize)).toEqual(["812B", "4.2KB", "1.5MB"]);
});
