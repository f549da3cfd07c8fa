import { stripVTControlCharacters } from "node:util";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type FooterFacts, footerLines } from "../../src/interactive/status/footer.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { shortTokens } from "../../src/views/numbers.ts";

const plain = makeTheme("none");
const facts: FooterFacts = {
  folder: "~/projects/orchard",
  branch: "main",
  sessionName: "Prune the apple trees",
  model: { provider: "anthropic", id: "claude-sonnet-4-5" },
  thinking: "high",
  tokens: 41_234,
  windowTokens: 200_000,
  isEstimate: false,
  cost: { usd: 0.4217, certainty: "known" },
  statuses: ["lint: clean"],
};

const shown = (width: number, changes: Partial<FooterFacts> = {}) =>
  footerLines({ ...facts, ...changes }, width, plain)
    .map(stripVTControlCharacters)
    .join("\n");

describe("the footer", () => {
  test("fits 200, 80, 40 and 20 columns", () =>
    everyRow([200, 80, 40, 20])((width) => {
      expect(shown(width)).toMatchSnapshot();
    }));

  test("marks an estimate", () => {
    expect(shown(80, { isEstimate: true })).toContain("~41k/200k 21%");
  });

  test("shows an unknown and an incomplete cost", () => {
    expect(shown(80, { cost: { usd: 0, certainty: "unknown" } })).toContain("cost unknown");
    expect(shown(120, { cost: { usd: 0.42, certainty: "atLeast" } })).toContain("at least $0.42");
  });

  test("shows the tokens in and out only where there is room", () => {
    const used = { sent: 1_234_567, got: 41_000, cachedShare: 0.874 };
    expect(shown(110, { used })).toContain("$0.42  ↑1.2M ↓41k 87% cached");
    expect(shown(90, { used })).toMatch(/↑1\.2M ↓41k {2,}/);
    expect(shown(80, { used })).toBe(shown(80));
    expect(shown(110)).not.toContain("↑");
  });

  test("shows no share without a known window", () => {
    expect(shown(80, { windowTokens: undefined })).toContain(" 41k tokens");
  });

  test("tells a user without a model what to do, and shows no window", () =>
    everyRow([
      [80, "no model: store a key with /login"],
      [40, "no model: store a key with /login"],
      [20, "no model: /login"],
      [10, "no model"],
    ])(([width, words]) => {
      expect(shown(width, { model: undefined, tokens: 0, cost: undefined })).toMatch(
        new RegExp(`\\n +${words}$`),
      );
    }));

  test("leaves out missing facts", () => {
    expect(
      shown(80, {
        branch: undefined,
        sessionName: undefined,
        thinking: undefined,
        cost: undefined,
        statuses: [],
      }),
    ).toMatchSnapshot();
  });

  test("colours the context by its share of the window", () =>
    everyRow([
      [70, "muted"],
      [70.5, "warning"],
      [90, "warning"],
      [90.5, "error"],
    ] as const)(([share, style]) => {
      const theme = makeTheme("dark");
      const [, line] = footerLines({ ...facts, tokens: share * 2_000 }, 80, theme);
      const opening = theme.style[style]("x").split("x")[0]!;
      expect(line!.slice(0, line!.indexOf("/200k"))).toContain(opening);
    }));

  test("never is wider than the terminal, and never steers it", () => {
    // The unit "binary" takes seconds to build.
    const character = fc.integer({ min: 0, max: 0x10ffff - 0x800 });
    const unit = character.map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));
    const text = fc.string({ unit, maxLength: 60 });
    const some = fc.record({
      folder: text,
      branch: text,
      sessionName: text,
      model: fc.option(fc.record({ provider: text, id: text }), { nil: undefined }),
      statuses: fc.array(text, { maxLength: 3 }),
      tokens: fc.nat(5_000_000),
      cost: fc.record({
        usd: fc.double({ min: 0, max: 5_000, noNaN: true }),
        certainty: fc.constantFrom("known", "atLeast", "unknown"),
      }),
    });
    fc.assert(
      fc.property(some, fc.integer({ min: 1, max: 120 }), (changes, width) => {
        for (const line of footerLines({ ...facts, ...changes }, width, plain)) {
          expect(visibleWidth(line)).toBeLessThanOrEqual(width);
          expect(stripVTControlCharacters(line)).not.toMatch(/\p{Cc}/u);
        }
      }),
    );
  });
});

test("shortens token counts", () =>
  everyRow([
    [0, "0"],
    [999, "999"],
    [1_000, "1k"],
    [9_549, "9.5k"],
    [9_960, "10k"],
    [128_000, "128k"],
    [999_600, "1M"],
    [1_048_576, "1M"],
    [1_250_000, "1.3M"],
    [Number.NaN, "?"],
  ])(([tokens, text]) => {
    expect(shortTokens(tokens)).toBe(text);
  }));
