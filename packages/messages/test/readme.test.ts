import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { textRows } from "../bench/estimators.bench.ts";

describe("the table in the README", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

  it.each(textRows().map((row) => [row[0]!, `| ${row.join(" | ")} |`]))(
    "has the bench's row of %s",
    (_name, row) => {
      expect(readme).toContain(row);
    },
  );
});
