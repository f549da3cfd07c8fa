import fc from "fast-check";
import { expect, test } from "vitest";
import { usdColumn, usdText } from "../src/text/screen-text.ts";

test("Law: a column of dollars adds up to its sum as it is written", () => {
  const cents = (text: string) => Math.round(Number(text.replaceAll(/[$,]/g, "")) * 10_000);
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 3_000, noNaN: true }), { minLength: 1 }), (parts) => {
      const total = parts.reduce((sum, part) => sum + part, 0);
      const shown = usdColumn(parts, total).map(cents);
      expect(shown.reduce((sum, part) => sum + part, 0)).toBe(cents(usdText(total)));
    }),
  );
});
