import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  Agent,
  agentSettings,
  defineTool,
  type LifecycleEvents,
  lifecycleEventRules,
} from "@bonsai-agent/agent";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { messageText } from "@bonsai-agent/messages";
import { ModelClient } from "@bonsai-agent/models";
import { scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession } from "@bonsai-agent/session";
import type { BenchTable } from "@bonsai-agent/testkit";
import { z } from "zod";
import { benchModel } from "./actor-model.ts";

const TURNS = 5_000;
const COMPACTIONS = 100;
/** A turn is a call, its result of about 1,300 tokens, and the request for the next. */
const CALLS_PER_PROMPT = 10;
const MARKS = [500, 1_000, 2_500, 5_000];
const WINDOW_TOKENS = 80_000;

/** Memory of one agent over a day-long session: it must not grow with the number of turns. */
export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  try {
    return await soak(join(folder, "session.jsonl"), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function soak(file: string, cwd: string): Promise<BenchTable> {
  const counts = { turns: 0, compactions: 0, failures: 0 };
  const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
  lifecycle.on("turn_end", () => {
    counts.turns += 1;
  });
  lifecycle.on("session_compact", () => {
    counts.compactions += 1;
  });
  lifecycle.on("session_compact_failed", () => {
    counts.failures += 1;
  });
  const agent = new Agent({
    session: createSession({ cwd, file }),
    models: new ModelClient({ providers: { scripted: async () => scriptedProvider(dayLong()) } }),
    model: benchModel({ contextWindow: WINDOW_TOKENS }),
    // Masks alone would keep it small for a thousand turns at a time.
    settings: agentSettings({ titles: false, compaction: { mask: { enabled: false } } }),
    tools: [logTool],
    systemPrompt: "You read logs all day.",
    lifecycle,
  });
  const rows: string[][] = [];
  const heaps: number[] = [];
  const started = performance.now();
  for (const mark of MARKS) {
    while (counts.turns < mark)
      await agent.prompt(`Read the next ${CALLS_PER_PROMPT} logs after turn ${counts.turns}.`);
    const { heapBytes, residentBytes } = memory();
    heaps.push(heapBytes);
    rows.push([
      counts.turns.toLocaleString("en"),
      String(counts.compactions),
      megabytes(statSync(file).size),
      megabytes(heapBytes),
      megabytes(residentBytes),
      `${((performance.now() - started) / counts.turns).toFixed(2)} ms`,
    ]);
  }
  await agent.close();
  const growth = heaps.at(-1)! / heaps[0]!;
  return {
    title: `A session of ${TURNS.toLocaleString("en")} turns, compacted by itself`,
    columns: ["turns", "compactions", "file", "heap after gc", "resident", "each turn so far"],
    rows,
    notes: [
      `Heap at the end against the first mark: ${growth.toFixed(2)}x (target: does not grow with turns, at most 1.3x: ${growth <= 1.3 ? "met" : "MISSED"}).`,
      `Compactions: ${counts.compactions} (target at least ${COMPACTIONS}: ${counts.compactions >= COMPACTIONS ? "met" : "MISSED"}), failed: ${counts.failures}.`,
    ],
  };
}

const logTool = defineTool({
  name: "log",
  description: "Reads a log.",
  parameters: z.object({ number: z.number() }),
  execute: async ({ input }) => ({ content: [{ type: "text", text: logText(input.number) }] }),
});

function logText(number: number): string {
  return Array.from(
    { length: 60 },
    (_, line) =>
      `${number}:${line} request served in ${(number * 7 + line) % 90} ms, status 200, path /orders/${number}`,
  ).join("\n");
}

/** Ten calls for each prompt, then a word; a summary of the asked-for form whenever one is asked for. */
function dayLong(): Parameters<typeof scriptedProvider>[0] {
  let number = 0;
  return ({ purpose, messages }) => {
    if (purpose === "summary") return { text: summaryFor(messages.map(messageText).join("\n")) };
    number += 1;
    return number % CALLS_PER_PROMPT === 0
      ? { text: `Read up to log ${number}; nothing unusual.` }
      : { calls: [{ name: "log", arguments: { number } }] };
  };
}

function summaryFor(asked: string): string {
  // The outline that is asked for stands last.
  const headings =
    asked.lastIndexOf("## Request") > asked.lastIndexOf("## Goal")
      ? ["Request", "Done So Far", "Needed to Continue"]
      : ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context"];
  return headings
    .map((heading) => `## ${heading}\n- Logs are read one after the other; nothing unusual so far.`)
    .join("\n\n");
}

function memory(): { heapBytes: number; residentBytes: number } {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, rss } = process.memoryUsage();
  return { heapBytes: heapUsed, residentBytes: rss };
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
