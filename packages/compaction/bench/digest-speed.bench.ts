import { type BenchTable, writtenTurns } from "@bonsai-agent/testkit";
import { digestSummariser } from "../src/index.ts";

const COUNTS = [500, 1_000, 2_000, 4_000];
const RUNS = 5;

/** Measures the time of the digest by the number of messages. */
export default async function bench(): Promise<BenchTable> {
  const rows: string[][] = [];
  for (const script of ["latin", "han"] as const) {
    const messages = writtenTurns(script, { seed: 5, turns: 500 });
    for (const count of COUNTS)
      rows.push([script, String(count), ...(await times(messages.slice(0, count)))]);
  }
  return {
    title: "Speed of the digest",
    columns: ["script", "messages", "first run, ms", "median, ms"],
    rows,
    notes: ["The first run of each row still meets code that is not compiled yet in the first row only."],
  };
}

async function times(
  messages: Parameters<ReturnType<typeof digestSummariser>["summarise"]>[0]["messages"],
): Promise<string[]> {
  const taken: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now();
    await digestSummariser().summarise({
      kind: "history",
      messages,
      prompt: { system: "", user: "" },
      maxSummaryTokens: 4_000,
      signal: new AbortController().signal,
    });
    taken.push(performance.now() - start);
  }
  const median = [...taken].sort((a, b) => a - b)[Math.floor(RUNS / 2)]!;
  return [taken[0]!.toFixed(0), median.toFixed(0)];
}
