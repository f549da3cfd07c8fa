import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { generateWorkday } from "@bonsai-agent/testkit";
import type { Row } from "./draw.ts";
import type { Recorder } from "./recorder.ts";
import type { Studio } from "./studio.ts";

export interface Scene {
  /** Name of the file, without its ending. */
  name: string;
  title: string;
  play(studio: Studio): Promise<{ recorder: Recorder; rows: Row[] }>;
}

/** The still pictures in `docs/pictures`. */
export const scenes: readonly Scene[] = [
  {
    name: "demo",
    title: "bonsai demo: a whole session on a scripted model, with its compactions",
    play: async (studio) => {
      const recorder = studio.open({ columns: 84, rows: 40 });
      await recorder.until("No model");
      recorder.type("/demo\n");
      await recorder.until("t /tree");
      return shown(recorder);
    },
  },
  {
    name: "tool-diff",
    title: "Tools at work: a file read, an edit with its diff, a green test",
    play: async (studio) => {
      const recorder = studio.open({ scenario: shopScenario, files: shopFiles, rows: 41 });
      await untilFixed(recorder);
      return shown(recorder);
    },
  },
  {
    name: "tree",
    title: "The session tree: a filter, and a branch folded",
    play: async (studio) => {
      const recorder = openWorkday(studio, { columns: 100, rows: 34 });
      await recorder.until("local/oak");
      recorder.type("/tree\n");
      await recorder.until("Session tree");
      recorder.press("tab");
      await recorder.until("no tools");
      recorder.press("end", "up", "left");
      return shown(recorder);
    },
  },
  {
    name: "context",
    title: "/context shows where the tokens are",
    play: async (studio) => {
      const recorder = openWorkday(studio, { columns: 90, rows: 40 });
      await recorder.until("local/oak");
      recorder.type("/context\n");
      await recorder.until("free");
      const rows = await recorder.still();
      // The rows above belong to the chat.
      const begin = recorder
        .text()
        .split("\n")
        .findIndex((line) => line.includes("Context:"));
      return { recorder, rows: rows.slice(begin - 1) };
    },
  },
];

async function shown(recorder: Recorder): Promise<{ recorder: Recorder; rows: Row[] }> {
  return { recorder, rows: await recorder.still() };
}

async function untilFixed(recorder: Recorder): Promise<void> {
  await recorder.until("oak");
  recorder.type("Totals are a cent short. Fix it, keep the API.\n");
  await recorder.until("10.005");
}

/** A day of work with two branches and a compaction. */
function openWorkday(studio: Studio, size: { columns: number; rows: number }): Recorder {
  const file = join(studio.home, "workday.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const [header = "", ...lines] = readFileSync(file, "utf8").split("\n");
  const here = JSON.stringify({ ...JSON.parse(header), cwd: studio.project });
  writeFileSync(file, [here, ...lines].join("\n"));
  studio.run("compact", file, "--digest");
  return studio.open({ scenario: { turn: [], contextWindow: 200_000 }, argv: ["--session", file], ...size });
}

const shopFiles = {
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
const shopScenario: Scenario = {
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
