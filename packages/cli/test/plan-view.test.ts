import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { lineWidth, renderLine } from "../src/views/line.ts";
import { type PlanPicture, planView } from "../src/views/plan-view.ts";

const picture: PlanPicture = {
  parts: [
    { fate: "fixed", items: 0, tokens: 9_000 },
    { fate: "summarised", items: 792, tokens: 120_000 },
    { fate: "turnPrefix", items: 3, tokens: 2400 },
    { fate: "masked", items: 0, tokens: 21_000 },
    { fate: "shortened", items: 0, tokens: 4_000 },
    { fate: "kept", items: 119, tokens: 11_000 },
  ],
  first: { entryId: "00000001", kind: "user", preview: [{ text: "Make the totals right." }] },
  cut: {
    entryId: "00000384",
    kind: "assistant",
    preview: [{ text: "I see why the sum is off by one cent now." }],
  },
  last: { entryId: "000003fa", kind: "result", preview: [{ text: "bash: 214 tests passed" }] },
  splitsTurn: true,
  maskedItems: 12,
  shortenedItems: 2,
  scope: undefined,
  isEstimateBefore: false,
  tokensBefore: 167_400,
  tokensAfter: 24_000,
  summaryTokens: 4000,
  isSummaryExpected: false,
  readFiles: ["src/money.ts"],
  modifiedFiles: ["src/total.ts", "test/total.test.ts"],
};

function drawn(picture: PlanPicture, width: number): string {
  return [...planView(picture, width)].map((line) => `${renderLine(line, false)}\n`).join("");
}

test("the plan is a picture at 40 and 80 columns", () =>
  everyRow([80, 40])(async (width) => {
    for (const line of planView(picture, width)) expect(lineWidth(line)).toBeLessThanOrEqual(width);
    await expect(drawn(picture, width)).toMatchFileSnapshot(`golden/plan-${width}.txt`);
  }));

test("without anything kept there is no cut; without masks, no word of them", () => {
  const text = drawn({ ...picture, parts: picture.parts.slice(0, 3), cut: undefined, maskedItems: 0 }, 80);
  expect(text).not.toContain("cut");
  expect(text).not.toContain("masked");
});
