import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { agentCall } from "../src/agent-call.ts";
import { runInteractive } from "../src/interactive/interactive-mode.ts";
import type { CliIo } from "../src/io.ts";
import { BlankTerminal } from "./blank-terminal.ts";

const ENTRIES = 10_000;
const KEYS = 200;

/** From a key to the frame that shows it, on a small and on a large session, idle and while the model streams. */
export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  try {
    const rows = [...(await session(folder, 10)), ...(await session(folder, ENTRIES))];
    return {
      title: "From a key to the frame that shows it",
      columns: ["session", "what", "median", "95%", "longest"],
      rows,
      notes: ["a terminal of 120 x 40; its own drawing is not counted", "opening and /tree are single runs"],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function session(folder: string, entries: number): Promise<string[][]> {
  const file = join(folder, `${entries}.jsonl`);
  generateSession({ file, entries, averageBytes: 1_000, branchiness: 0.05 });
  const opened = await openOn(folder, file);
  const { terminal } = opened;
  const name = `${entries.toLocaleString("en")} entries`;
  const rows = [[name, "opened, whole chat drawn", ms(opened.openedMs), "", ""]];
  rows.push([name, "key, idle", ...(await keys(terminal))]);
  terminal.clearEditor();
  terminal.type("Tell me a long story\r");
  await terminal.until("word");
  rows.push([name, "key, while it streams", ...(await keys(terminal))]);
  terminal.clearEditor();
  terminal.type("\x1b");
  await new Promise((resolve) => setTimeout(resolve, 500));
  const started = performance.now();
  terminal.type("/tree\r");
  if (await terminal.until("filter", 5_000))
    rows.push([name, "/tree opens", ms(performance.now() - started), "", ""]);
  await opened.end();
  return rows;
}

async function keys(terminal: BlankTerminal): Promise<string[]> {
  const measured: number[] = [];
  for (let at = 0; at < KEYS; at += 1) {
    // Where the program is in its own work when a key comes is chance; a key that comes waits for what runs.
    await new Promise((resolve) => setTimeout(resolve, 7 + (at % 5)));
    await turn();
    const frame = terminal.frameWith(String.fromCharCode(97 + (at % 26)));
    const started = performance.now();
    terminal.type(String.fromCharCode(97 + (at % 26)));
    await frame;
    measured.push(performance.now() - started);
  }
  const sorted = measured.toSorted((a, b) => a - b);
  return [sorted[KEYS >> 1]!, sorted[Math.floor(KEYS * 0.95)]!, sorted.at(-1)!].map(ms);
}

async function openOn(folder: string, file: string) {
  const scenario = join(folder, "scenario.json");
  const text = `# A story\n\n${"One word after the other, *again* and `again`.\n\n".repeat(4_000)}`;
  writeFileSync(
    scenario,
    JSON.stringify({ contextWindow: 100_000_000, turn: [{ text, delayMs: 2 }], atEnd: "repeat" }),
  );
  const terminal = new BlankTerminal();
  const stop = new AbortController();
  const stream = { isTTY: true, columns: terminal.columns, write: () => true };
  const io: CliIo = {
    stdout: stream,
    stderr: stream,
    stdin: { isTTY: true, async *[Symbol.asyncIterator]() {} },
    env: { BONSAI_HOME: join(folder, "home") },
    cwd: folder,
    now: Date.now,
    interruptible: (work) => work(stop.signal),
  };
  const started = performance.now();
  const ended = runInteractive(
    agentCall(["--session", file, "--model", `scripted/${scenario}`], io),
    terminal,
  );
  await terminal.until("scripted", 60_000);
  const openedMs = performance.now() - started;
  const end = async () => {
    stop.abort(new Error("The bench is over."));
    await ended;
  };
  return { terminal, openedMs, end };
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}
