import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateWorkday } from "@bonsai-agent/testkit";
import type { Row } from "./cells.ts";
import { earlierSessions } from "./earlier-sessions.ts";
import type { Recorder } from "./recorder.ts";
import {
  compactedScenario,
  compactingScenario,
  longFiles,
  shopFiles,
  shopScenario,
  streamingScenario,
} from "./shop.ts";
import type { Studio } from "./studio.ts";

export interface Scene {
  /** Of the file. */
  name: string;
  title: string;
  play(studio: Studio): Promise<{ recorder: Recorder; rows: Row[] }>;
}

/** The stills of `docs/pictures`, in the order of the gallery. */
export const scenes: readonly Scene[] = [
  {
    name: "first-run",
    title: "The first run without a model says what works now",
    play: async (studio) => {
      const recorder = studio.open({});
      await recorder.until("/login");
      return shown(recorder);
    },
  },
  {
    name: "streaming",
    title: "An answer streams in, while the next message waits",
    play: async (studio) => {
      const recorder = studio.open({ scenario: streamingScenario, files: shopFiles, rows: 36 });
      await recorder.until("local/oak");
      recorder.type("Why are some totals a cent short?\n");
      await recorder.until("kept in cents");
      recorder.type("Then mend it, and keep the API.\n");
      await recorder.until("Next: Then");
      await recorder.until(/\b2s\b/);
      return { recorder, rows: recorder.rows() };
    },
  },
  {
    name: "tool-diff",
    title: "Tools at work: a file read, an edit with its diff, a green test",
    play: async (studio) => {
      const recorder = studio.open({ scenario: shopScenario, files: shopFiles, rows: 41 });
      await mended(recorder);
      return shown(recorder);
    },
  },
  {
    name: "compacting",
    title: "A compaction runs by itself; what is sent meanwhile waits",
    play: async (studio) => {
      const recorder = studio.open({ scenario: compactingScenario, files: longFiles, rows: 24 });
      await readLogs(recorder);
      await recorder.until("Auto-compacting");
      recorder.type("Which code fails most?\n");
      await recorder.until("Next: Which");
      await recorder.until("3s");
      return { recorder, rows: recorder.rows() };
    },
  },
  {
    name: "compacted",
    title: "After a compaction: its summary and files, unfolded",
    play: async (studio) => {
      studio.write(".bonsai/settings.json", JSON.stringify({ compaction: { keepRecentTokens: 100 } }));
      const recorder = studio.open({ scenario: compactedScenario, files: longFiles, rows: 46 });
      await readLogs(recorder);
      await recorder.until("other codes are accepted");
      recorder.type(`${question}\n`);
      await recorder.until("customer service");
      recorder.type("/compact the refused codes\n");
      await recorder.until("Compacted from");
      recorder.press("ctrl+o");
      await recorder.until("Next Steps");
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
      // What is above it is the chat.
      const begin = recorder
        .text()
        .split("\n")
        .findIndex((line) => line.includes("Context:"));
      return { recorder, rows: rows.slice(begin - 1) };
    },
  },
  {
    name: "resume",
    title: "/resume: the sessions of the folder, with search and a preview",
    play: async (studio) => {
      earlierSessions(studio);
      const recorder = studio.open({ scenario: shopScenario, files: shopFiles, rows: 28 });
      await recorder.until("local/oak");
      recorder.type("/resume\n");
      await recorder.until("Sessions");
      return shown(recorder);
    },
  },
  {
    name: "narrow",
    title: "The same work in 40 columns",
    play: async (studio) => {
      const recorder = studio.open({ scenario: shopScenario, files: shopFiles, columns: 40, rows: 44 });
      await mended(recorder);
      return shown(recorder);
    },
  },
];

/** So long that a compaction keeps from here on. */
const question =
  "Customers write to us since Tuesday and ask what is wrong with their code. Who has to be told, and what should the shop have said instead of refusing it? Answer in one sentence, which I can send on as it is; leave out names of files, of carts and of lines, nobody there knows them.";

async function shown(recorder: Recorder): Promise<{ recorder: Recorder; rows: Row[] }> {
  return { recorder, rows: await recorder.still() };
}

async function mended(recorder: Recorder): Promise<void> {
  await recorder.until("oak");
  recorder.type("Totals are a cent short. Mend it, keep the API.\n");
  await recorder.until("half up");
}

async function readLogs(recorder: Recorder): Promise<void> {
  await recorder.until("local/oak");
  recorder.type("Read the logs of the week: which discount codes fail, and why?\n");
}

/** A day's work with a branch that was left, compacted in the evening. */
function openWorkday(studio: Studio, size: { columns: number; rows: number }): Recorder {
  const file = join(studio.home, "workday.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const [header = "", ...lines] = readFileSync(file, "utf8").split("\n");
  const here = JSON.stringify({ ...JSON.parse(header), cwd: studio.project });
  writeFileSync(file, [here, ...lines].join("\n"));
  studio.run("compact", file, "--digest");
  return studio.open({ scenario: { turn: [], contextWindow: 200_000 }, argv: ["--session", file], ...size });
}
