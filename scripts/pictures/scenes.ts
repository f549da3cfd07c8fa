import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateWorkday } from "@bonsai-agent/testkit";
import type { Row } from "./cells.ts";
import type { Recorder } from "./recorder.ts";
import { shopFiles, shopScenario } from "./shop.ts";
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
