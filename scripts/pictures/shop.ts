import type { Scenario } from "@bonsai-agent/models/scripted";

export const shopFiles = {
  "src/total.ts":
    "export function total(cents: number, rate: number): number {\n  return Math.floor(cents * rate) / 100;\n}\n",
  "src/total.test.ts":
    'import { total } from "./total.ts";\n\nif (total(1000.5, 1) !== 10.01) throw new Error("a cent is missing");\n',
};

const reading = {
  text: "I first look at how totals are rounded.",
  calls: [{ name: "read", arguments: { path: "src/total.ts" } }],
};

const change = {
  oldText: "  return Math.floor(cents * rate) / 100;",
  newText: "  // Round half a cent up.\n  return Math.round(cents * rate) / 100;",
};

const table =
  "| price | before | after |\n| --- | ---: | ---: |\n| 10.005 | 10.00 | 10.01 |\n| 0.015 | 0.01 | 0.02 |";

/** The agent finds and fixes a bug. */
export const shopScenario: Scenario = {
  contextWindow: 60_000,
  turn: [
    reading,
    {
      text: "`Math.floor` drops the last cent. I round half up instead.",
      calls: [{ name: "edit", arguments: { path: "src/total.ts", edits: [change] } }],
    },
    { calls: [{ name: "bash", arguments: { command: "node src/total.test.ts && echo all green" } }] },
    { text: `Fixed: **totals are rounded half up**, and the test is green.\n\n${table}` },
  ],
  title: [{ text: "Totals a cent short" }],
};
