import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, agentSettings } from "@bonsai-agent/agent";
import { ModelClient } from "@bonsai-agent/models";
import { scriptedProvider } from "@bonsai-agent/models/scripted";
import { openSession } from "@bonsai-agent/session";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { benchModel } from "./actor-model.ts";

const SIZES = [
  { entries: 10, compactions: 0 },
  { entries: 1_000, compactions: 2 },
  { entries: 100_000, compactions: 100 },
];
const ROUNDS = 7;

/** From the opening of a session and the call of `prompt` to the moment the provider gets the request. */
export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  try {
    const rows: string[][] = [];
    const medians: number[] = [];
    for (const size of SIZES) {
      const file = join(folder, `${size.entries}.jsonl`);
      const { bytes } = generateSession({ file, averageBytes: 1_500, ...size });
      // The first run warms the code up.
      await openAndAsk(file, folder);
      const ours = [];
      const warm = [];
      const naive = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const { openedMs, againMs } = await openAndAsk(file, folder);
        ours.push(openedMs);
        warm.push(againMs);
        naive.push(parseAllMs(file));
      }
      medians.push(median(ours));
      rows.push([
        size.entries.toLocaleString("en"),
        `${(bytes / 1e6).toFixed(1)} MB`,
        milliseconds(median(ours)),
        milliseconds(median(warm)),
        milliseconds(median(naive)),
        `${(median(naive) / median(ours)).toFixed(1)}x`,
      ]);
    }
    const growth = medians.at(-1)! / medians[1]!;
    return {
      title: "From prompt to request",
      columns: ["entries", "file", "open + first prompt", "next prompt", "naive: parse all", "naive / ours"],
      rows,
      notes: [
        `100,000 entries against 1,000: ${growth.toFixed(1)}x (target: at most 3x: ${growth <= 3 ? "met" : "MISSED"}).`,
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function openAndAsk(source: string, folder: string): Promise<{ openedMs: number; againMs: number }> {
  const file = join(folder, "asked.jsonl");
  copyFileSync(source, file);
  let askedAt = 0;
  const models = new ModelClient({
    providers: {
      scripted: async () =>
        scriptedProvider(() => {
          askedAt = performance.now();
          return { text: "Good." };
        }),
    },
  });
  const settings = agentSettings({ titles: false });
  const openedAt = performance.now();
  const agent = new Agent({
    session: openSession(file),
    models,
    model: benchModel({ contextWindow: 1_000_000 }),
    settings,
    tools: [],
    systemPrompt: "Be brief.",
  });
  await agent.prompt("Go on.");
  const openedMs = askedAt - openedAt;
  const promptedAt = performance.now();
  await agent.prompt("And now?");
  const againMs = askedAt - promptedAt;
  await agent.close();
  return { openedMs, againMs };
}

function parseAllMs(file: string): number {
  const start = performance.now();
  for (const line of readFileSync(file, "utf8").split("\n")) if (line !== "") JSON.parse(line);
  return performance.now() - start;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

function milliseconds(ms: number): string {
  return ms < 10 ? `${ms.toFixed(2)} ms` : `${Math.round(ms)} ms`;
}
