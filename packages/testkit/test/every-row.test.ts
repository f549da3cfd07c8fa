import { expect, test } from "vitest";
import { everyRow } from "../src/index.ts";

test("everyRow names each failing row with the compared values", async () => {
  const doubled = everyRow([
    [1, 2],
    [2, 5],
    [3, 7],
  ])(async ([number, double]) => expect(number * 2).toBe(double));
  await expect(doubled).rejects.toThrow(
    /^2 of 3 rows fail\.\n\[ 2, 5 \]: [\s\S]*expected: 5\n {2}received: 4\n\[ 3, 7 \]: /,
  );
});

test("everyRow refuses an empty table", () => {
  expect(() => everyRow([])).toThrow("The table has no rows.");
});
