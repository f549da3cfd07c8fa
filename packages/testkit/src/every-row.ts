import { inspect } from "node:util";

/**
 * Makes a test of a whole table, whose rows are examples of one claim: `everyRow(rows)(check)` checks every row, and
 * throws one error that lists each failing row with the values that differ.
 */
export function everyRow<Row extends unknown[] | [unknown]>(rows: readonly Row[]): CheckRows<Row>;
export function everyRow<Row>(rows: readonly Row[]): CheckRows<Row>;
export function everyRow<Row>(rows: readonly Row[]): CheckRows<Row> {
  if (rows.length === 0) throw new Error("The table has no rows.");
  return async (check) => {
    const failures: string[] = [];
    for (const row of rows)
      try {
        await check(row);
      } catch (error) {
        failures.push(`${name(row)}: ${describe(error)}`);
      }
    if (failures.length > 0)
      throw new Error(`${failures.length} of ${rows.length} rows fail.\n${failures.join("\n")}`);
  };
}

type CheckRows<Row> = (check: (row: Row) => unknown) => Promise<void>;

function name(row: unknown): string {
  return inspect(row, { depth: 1, maxStringLength: 120, maxArrayLength: 6, breakLength: Infinity });
}

/** An assertion's message abbreviates the values that it compared; its fields do not. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("actual" in error && "expected" in error)) return error.stack ?? error.message;
  const value = (side: unknown) => inspect(side, { depth: 6, maxStringLength: 1_000 });
  return `${error.message}\n  expected: ${value(error.expected)}\n  received: ${value(error.actual)}`;
}
