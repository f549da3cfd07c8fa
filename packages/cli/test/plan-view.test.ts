import { compactionSettings } from "@bonsai-agent/compaction";
import type { CatalogueModel } from "@bonsai-agent/models";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { lineWidth, renderLine } from "../src/app/line.ts";
import { wholeShares } from "../src/app/numbers.ts";
import { type PlanPicture, planView } from "../src/app/plan-view.ts";
import { compactionPreview } from "../src/interactive/slash/compaction-commands.ts";

const picture: PlanPicture = {
  parts: [
    { fate: "fixed", items: 0, tokens: 9_000 },
    { fate: "summarised", items: 792, tokens: 120_000 },
    { fate: "turnPrefix", items: 3, tokens: 2400 },
    { fate: "masked", items: 0, tokens: 25_000 },
    { fate: "kept", items: 119, tokens: 11_000 },
  ],
  first: { entryId: "00000001", kind: "user", preview: "Make the totals right." },
  cut: { entryId: "00000384", kind: "assistant", preview: "I see why the sum is off by one cent now." },
  last: { entryId: "000003fa", kind: "result", preview: "bash: 214 tests passed" },
  splitsTurn: true,
  maskedItems: 12,
  tokensBefore: 167_400,
  tokensAfter: 24_000,
  summaryTokens: 4000,
  isSummaryExpected: false,
  readFiles: ["src/money.ts"],
  modifiedFiles: ["src/total.ts", "test/total.test.ts"],
};

function drawn(picture: PlanPicture, width: number): string {
  return [...planView({ picture, width })].map((line) => `${renderLine(line, false)}\n`).join("");
}

test.each([80, 40])("the plan is a picture at %i columns", async (width) => {
  for (const line of planView({ picture, width })) expect(lineWidth(line)).toBeLessThanOrEqual(width);
  await expect(drawn(picture, width)).toMatchFileSnapshot(`golden/plan-${width}.txt`);
});

test("/compact preview tells requests and price; an unknown price is not free", () => {
  const { session } = history("U:8000 A:8000 | U:30000 A:4000");
  const settings = compactionSettings({});
  const model: CatalogueModel = {
    ...{ provider: "some", id: "model", name: "Some model", api: "openai-chat", contextWindow: 100_000 },
    ...{ input: ["text"], reasoning: false, baseUrl: "http://127.0.0.1:1" },
  };
  const shown = (prices?: CatalogueModel["usdPerMillionTokens"]) => {
    const priced = prices === undefined ? model : { ...model, usdPerMillionTokens: prices };
    const { lines } = compactionPreview({ session, settings, model: priced, fixedTexts: () => [] });
    return [...lines(120)].map((line) => renderLine(line, false)).join("\n");
  };
  expect(shown()).toMatch(/1 request to some\/model: about [\d,]+ tokens to read; the price is unknown\./);
  const text = shown({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 });
  expect(text).toMatch(/tokens to read; \$[\d.]+ to \$[\d.]+\./);
  expect(text).toMatch(/→ about [\d,]+ tokens/);
});

test("without anything kept there is no cut; without masks, no word of them", () => {
  const text = drawn({ ...picture, parts: picture.parts.slice(0, 3), cut: undefined, maskedItems: 0 }, 80);
  expect(text).not.toContain("cut");
  expect(text).not.toContain("masked");
});

test("Law: shares add up, whatever they are of", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 9 }), fc.nat(100), (parts, sum) => {
      const shown = wholeShares(parts, sum);
      const isNothing = parts.every((part) => part === 0);
      expect(shown.reduce((all, each) => all + each, 0)).toBe(isNothing ? 0 : sum);
    }),
  );
});
