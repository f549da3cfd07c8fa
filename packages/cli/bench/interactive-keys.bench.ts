import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import type { BlankTerminal } from "./blank-terminal.ts";
import { openInteractive } from "./open-interactive.ts";

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
      notes: [
        "a terminal of 120 x 40; its own drawing is not counted",
        "opening and /tree are single runs; a fresh process has never opened a tree",
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function session(folder: string, entries: number): Promise<string[][]> {
  const file = join(folder, `${entries}.jsonl`);
  generateSession({ file, entries, averageBytes: 1_000, branchiness: 0.05 });
  const name = `${entries.toLocaleString("en")} entries`;
  const scenario = scenarioFile(folder);
  const fresh = [0, 3_000].flatMap((idleMs) => firstTree(name, { folder, file, scenario, idleMs }));
  const opened = await openInteractive({ folder, file, scenario });
  const { terminal } = opened;
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
  return [...rows, ...fresh];
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

interface FirstTreeOptions {
  folder: string;
  file: string;
  scenario: string;
  /** From the opening of the session to the command. */
  idleMs: number;
}

function firstTree(name: string, { folder, file, scenario, idleMs }: FirstTreeOptions): string[][] {
  const program = fileURLToPath(new URL("first-tree.ts", import.meta.url));
  const words = [...process.execArgv, program, folder, file, scenario, String(idleMs)];
  const { openMs, pageMs } = JSON.parse(execFileSync(process.execPath, words, { encoding: "utf8" }));
  const when = idleMs === 0 ? "at once" : `after ${idleMs / 1_000} s`;
  return [
    [name, `/tree opens in a fresh process, ${when}`, ms(openMs), "", ""],
    [name, `page keys in it, ${when}`, "", "", ms(pageMs)],
  ];
}

function scenarioFile(folder: string): string {
  const file = join(folder, "scenario.json");
  const text = `# A story\n\n${"One word after the other, *again* and `again`.\n\n".repeat(4_000)}`;
  const turn = [{ text, delayMs: 2 }];
  writeFileSync(file, JSON.stringify({ contextWindow: 100_000_000, turn, atEnd: "repeat" }));
  return file;
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}
