import { anyText, everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bar, fitLine, type Line, lineWidth, renderLine, span, table } from "../../src/views/line.ts";
import { age, bytes, count, counted, duration, percent, usd } from "../../src/views/numbers.ts";
import { oneLine, printable, textWidth, truncate, wrap } from "../../src/views/terminal-text.ts";

const anyTexts = anyText({ maxLength: 60 });
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const steering = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/;

describe("printable text", () => {
  test("control and hidden characters become visible", () =>
    everyRow([
      ["plain", "plain"],
      ["\u001b[2J\u0007", "␛[2J␇"],
      ["a\nb\tc", "a␊b␉c"],
      ["\u009b31m", "\\u{9b}31m"],
      ["\u202egnp.exe", "\\u{202e}gnp.exe"],
      ["\ud800", "\ufffd"],
      ["日本語 é 👩‍👩‍👧", "日本語 é 👩‍👩‍👧"],
      ["\u200egnp\u200f.exe\u061c", "\\u{200e}gnp\\u{200f}.exe\\u{61c}"],
      ["\ufeffpass\u200bword\u2060", "\\u{feff}pass\\u{200b}word\\u{2060}"],
      ["a\u{e0041}\u{e0100}\u{e0fff}", "a\\u{e0041}\\u{e0100}\\u{e0fff}"],
      ["rm\u200d -rf\u200c", "rm\\u{200d} -rf\\u{200c}"],
      ["می\u200cخواهم, ❤\ufe0f, 葛\u{e0100}", "می\u200cخواهم, ❤\ufe0f, 葛\u{e0100}"],
    ])(([text, shown]) => expect(printable(text)).toBe(shown)));

  test("holds nothing that steers a terminal, and is idempotent", () => {
    fc.assert(
      fc.property(anyTexts, (text) => {
        expect(printable(text)).not.toMatch(steering);
        expect(printable(printable(text))).toBe(printable(text));
        expect(oneLine(text)).not.toMatch(steering);
      }),
    );
  });
});

describe("numbers of any size and kind", () => {
  test("a value that is no number is shown as a question mark", () =>
    everyRow([Number.NaN, Number.POSITIVE_INFINITY, undefined, "7"])((value) => {
      expect(count(value as number)).toBe("?");
      expect(usd(value as number)).toBe("?");
    }));

  test("a table of 200,000 rows is made", () => {
    const rows = Array.from({ length: 200_000 }, (_, at) => [[String(at)]]);
    expect([...table(rows, { columns: [{ align: "right" }], width: 80 })]).toHaveLength(200_000);
  });
});

describe("width", () => {
  test("a text's width is its columns on a terminal", () =>
    everyRow([
      ["", 0],
      ["abc", 3],
      ["日本語", 6],
      ["ｶﾅ", 2],
      ["한국어", 6],
      ["e\u0301", 1],
      ["👩‍👩‍👧", 2],
      ["✔", 1],
      ["✔️", 2],
      ["｜", 2],
      ["…●│█", 4],
    ])(([text, width]) => expect(textWidth(text)).toBe(width)));

  test("a text that is too wide ends with an ellipsis", () =>
    everyRow([
      ["abcdef", 6, "abcdef"],
      ["abcdef", 5, "abcd…"],
      ["日本語", 6, "日本語"],
      ["日本語", 5, "日本…"],
      ["日本語", 4, "日…"],
      ["abc", 1, "…"],
      ["abc", 0, ""],
    ])(([text, width, cut]) => expect(truncate(text, width)).toBe(cut)));

  test("a cut text never takes more than its room; wrapping loses no word", () => {
    fc.assert(
      fc.property(anyTexts.map(printable), fc.integer({ min: 2, max: 40 }), (text, width) => {
        expect(textWidth(truncate(text, width))).toBeLessThanOrEqual(width);
        const lines = wrap(text, width);
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
        expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
      }),
    );
  });
});

describe("lines", () => {
  const lines = fc.array(fc.record({ text: anyTexts }), { maxLength: 5 });

  test("a fitted line fits", () => {
    fc.assert(
      fc.property(lines, fc.integer({ min: 1, max: 50 }), (line, width) => {
        expect(lineWidth(fitLine(line, width))).toBeLessThanOrEqual(width);
      }),
    );
  });

  test("a cut text ends with an ellipsis", () => {
    expect(renderLine(fitLine(["abc", span("def")], 3), false)).toBe("ab…");
    expect(renderLine(fitLine(["abc", span("def")], 6), false)).toBe("abcdef");
  });

  test("a table is never wider than the screen, and its columns are aligned", () => {
    const rows = fc.array(fc.tuple(anyTexts, anyTexts, anyTexts), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 24, max: 100 }), (cells, width) => {
        const columns = [{}, { align: "right" as const }, { flexible: true }];
        const drawn = [
          ...table(
            cells.map((row) => row.map((text): Line => [text])),
            { columns, width },
          ),
        ];
        expect(drawn).toHaveLength(cells.length);
        for (const line of drawn) expect(lineWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
    const drawn = table(
      [
        [["a"], ["1"]],
        [["bcd"], ["1,000"]],
      ],
      { columns: [{}, { align: "right" }], width: 80 },
    );
    expect([...drawn].map((line) => renderLine(line, false))).toEqual(["a        1", "bcd  1,000"]);
  });

  test("a bar has exactly its width, and each part that is not nothing shows", () => {
    const values = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(values, fc.integer({ min: 8, max: 90 }), fc.nat(3_000_000), (parts, width, whole) => {
        const glyphs = "█▓▒░▚";
        const drawn = bar(
          parts.map((value, at) => ({ value, glyph: glyphs[at]! })),
          width,
          whole,
        );
        expect(lineWidth(drawn)).toBe(width);
        const text = renderLine(drawn, false);
        for (const [at, value] of parts.entries()) expect(text.includes(glyphs[at]!)).toBe(value > 0);
      }),
    );
  });
});

describe("numbers", () => {
  test("numbers have separators and units", () =>
    everyRow([
      [count(1_234_567), "1,234,567"],
      [counted(1, "entry", "entries"), "1 entry"],
      [counted(2000, "entry", "entries"), "2,000 entries"],
      [percent(1, 3), "33%"],
      [percent(1, 1000), "<1%"],
      [percent(999, 1000), ">99%"],
      [percent(0, 0), "0%"],
      [usd(0), "$0"],
      [usd(0.0042), "$0.0042"],
      [usd(30.333), "$30.33"],
      [usd(1234.5), "$1,234.50"],
      [bytes(0), "0 bytes"],
      [bytes(974_031), "974 kB"],
      [bytes(1_500_000), "1.5 MB"],
      [bytes(999_900), "1 MB"],
      [duration(59_000), "59 s"],
      [duration(3 * 3_600_000), "3 h"],
      [age(0, 30_000), "just now"],
      [age(0, 400 * 86_400_000), "1 year ago"],
      [age(Number.NaN, 0), "?"],
    ])(([found, wanted]) => expect(found).toBe(wanted)));
});
