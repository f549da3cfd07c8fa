import { writeSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { openInteractive } from "./open-interactive.ts";

/** The keys of somebody who looks around in the tree. */
const keys = ["\x1b[5~", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[6~", "\x1b[F", "\x1b[5~", "\x1b[5~"];

/** What `/tree` takes in a process that has never opened it: a program of its own, that prints milliseconds as JSON. */
const [folder, file, scenario, idleMs] = process.argv.slice(2) as [string, string, string, string];
const { terminal, end } = await openInteractive({ folder, file, scenario });
await wait(Number(idleMs));
for (const key of "/tree") terminal.type(key);
await wait(300);
const openMs = await timed("\r");
const pageMs: number[] = [];
for (const key of keys) {
  await wait(40);
  pageMs.push(await timed(key));
}
writeSync(1, JSON.stringify({ openMs, pageMs: Math.max(...pageMs) }));
await end();
process.exit(0);

/** To the next frame. */
async function timed(key: string): Promise<number> {
  const frame = terminal.frameWith("");
  const started = performance.now();
  terminal.type(key);
  await frame;
  return performance.now() - started;
}
