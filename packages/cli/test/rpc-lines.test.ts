import { anyText, everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type LineIn, linesIn } from "../src/call/json-lines.ts";

async function linesOf(parts: readonly Uint8Array[], mostBytes?: number): Promise<LineIn[]> {
  const stream = (async function* () {
    yield* parts;
  })();
  const lines: LineIn[] = [];
  for await (const line of linesIn(stream, mostBytes)) lines.push(line);
  return lines;
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const ends = [...at.map((each) => each % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

const line = anyText().map((text) => text.replaceAll(/[\r\n]/g, "").toWellFormed());

test("lines come whole from any chunks, and only LF ends a line", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n"))),
      fc.array(fc.nat(10_000)),
      async (lines, cuts) => {
        const bytes = Buffer.from(lines.map(([text, end]) => text + end).join(""));
        expect(await linesOf(cut(bytes, cuts))).toEqual(lines.map(([text]) => ({ text })));
      },
    ),
  );
});

test("lines are read as they end", () =>
  everyRow([
    ["no end at the end", "a\nb", [{ text: "a" }, { text: "b" }]],
    ["line separators of Unicode", "a\u2028b\u2029c\u0085d\n", [{ text: "a\u2028b\u2029c\u0085d" }]],
    ["blank lines", "\n\r\n", [{ text: "" }, { text: "" }]],
    ["nothing", "", []],
    ["a lone CR", "a\rb\n", [{ text: "a\rb" }]],
  ])(async ([_, text, expected]) => {
    expect(await linesOf([Buffer.from(text)])).toEqual(expected);
  }));

test("a line that is too long is skipped up to its end, and the next is read", async () => {
  const bytes = Buffer.from(`${"x".repeat(25)}\nok\n${"y".repeat(11)}`);
  expect(await linesOf(cut(bytes, [5, 9, 20, 27]), 10)).toEqual([
    { tooLong: 25 },
    { text: "ok" },
    { tooLong: 11 },
  ]);
});
