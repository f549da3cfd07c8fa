import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { compactionEventRules, compactionSettings } from "../src/index.ts";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const rows = (heading: string) =>
  (readme.split(`## ${heading}\n`)[1] ?? "")
    .split(/^## /m)[0]!
    .split("\n")
    .flatMap((line) => {
      const cells = line.split("|").map((cell) => cell.trim().replaceAll("`", ""));
      return line.startsWith("| `") ? [cells.slice(1, -1)] : [];
    });

test("the settings table has a row for each key, with its default", () => {
  const keys = (value: unknown, path: string): string[][] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, inner]) => keys(inner, `${path}.${key}`))
      : [[path, JSON.stringify(value)]];
  expect(rows("Settings").map(([key, value]) => [key, value])).toEqual(
    expect.arrayContaining(keys(compactionSettings(), "compaction")),
  );
  expect(rows("Settings")).toHaveLength(keys(compactionSettings(), "compaction").length);
});

test("the events table has a row for each event, with its kind", () => {
  const table = Object.fromEntries(rows("Events").map(([name, kind]) => [name, kind]));
  const rules = Object.entries(compactionEventRules).map(([name, rule]) => [name, rule.kind]);
  expect(table).toEqual(Object.fromEntries(rules));
});
