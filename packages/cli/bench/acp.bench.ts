import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { BenchTable } from "@bonsai-agent/testkit";
import { run } from "../src/program.ts";

const ROUNDS = 7;
const CHUNKS = 10_000;
const CHUNK_CHARS = 24;
const SPACED = { rounds: 3, chunks: 2_000, delayMs: 1 };

/** An editor's first update beside print mode's first token, and the CPU time of a long answer beside JSON mode's. */
export default async function bench(): Promise<BenchTable[]> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  try {
    return [
      await firstUpdate(place(folder, "short", { text: "Good." })),
      await longAnswer(folder, { rounds: ROUNDS, chunks: CHUNKS, delayMs: 0 }),
      await longAnswer(folder, SPACED),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Place {
  cwd: string;
  env: Record<string, string>;
  model: string[];
}

function place(folder: string, name: string, answer: { text: string; delayMs?: number }): Place {
  const cwd = join(folder, name);
  const home = join(cwd, "home");
  mkdirSync(home, { recursive: true });
  const scenario = join(cwd, "scenario.json");
  const turn = [{ ...answer, chunkChars: CHUNK_CHARS }];
  writeFileSync(scenario, JSON.stringify({ contextWindow: 1_000_000, turn, atEnd: "repeat" }));
  writeFileSync(join(home, "settings.json"), JSON.stringify({ titles: false }));
  return { cwd, env: { BONSAI_HOME: home, HOME: cwd }, model: ["--model", `scripted/${scenario}`] };
}

async function firstUpdate(at: Place): Promise<BenchTable> {
  const print: number[] = [];
  const whole: number[] = [];
  const prompted: number[] = [];
  // The first round fills the caches of compiled code.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const printMs = await firstTokenMs(at);
    const { startedMs, promptedMs, untilMs } = await serveClient(at, "agent_message_chunk");
    if (round === 0) continue;
    print.push(printMs);
    whole.push(untilMs - startedMs);
    prompted.push(untilMs - promptedMs);
  }
  return {
    title: "To the first piece of an answer, in a warm process",
    columns: ["way", "median"],
    rows: [
      ["print mode, from the start of the call", ms(median(print))],
      ["--mode acp, from the start of the call", ms(median(whole))],
      ["--mode acp, from session/prompt", ms(median(prompted))],
    ],
  };
}

async function firstTokenMs(at: Place): Promise<number> {
  const startedMs = performance.now();
  let tokenMs: number | undefined;
  await inProcess(at, ["-p", "hi"], undefined, () => {
    tokenMs ??= performance.now();
  });
  return tokenMs! - startedMs;
}

/** Serves one client until a text comes. */
async function serveClient(at: Place, until: string, hear: (text: string) => void = () => {}) {
  const startedMs = performance.now();
  let promptedMs = 0;
  const input = new PassThrough();
  let onText = hear;
  const ended = inProcess(at, ["--mode", "acp"], input, (text) => {
    hear(text);
    onText(text);
  });
  const onPrompt = () => {
    promptedMs = performance.now();
  };
  const listen = (next: (text: string) => void) => {
    onText = next;
  };
  const untilMs = await conversation(at.cwd, input, listen, { onPrompt, until });
  input.end();
  await ended;
  return { startedMs, promptedMs, untilMs };
}

/** Sends the requests up to a prompt, each after the answer to the last. Resolves with the time of the wanted text. */
function conversation(
  cwd: string,
  input: { write(text: string): unknown },
  listen: (onText: (text: Buffer | string) => void) => void,
  { onPrompt = () => {}, until }: { onPrompt?: () => void; until: string },
): Promise<number> {
  const send = (id: number, method: string, params: object) =>
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  return new Promise((resolve) => {
    let text = "";
    let asked = 1;
    listen((piece) => {
      text = text.slice(-200) + String(piece);
      if (asked === 1 && text.includes('"protocolVersion"')) {
        asked = 2;
        send(2, "session/new", { cwd, mcpServers: [] });
      }
      const [, sessionId] = /"sessionId":"([^"]+)"/.exec(text) ?? [];
      if (asked === 2 && sessionId !== undefined) {
        asked = 3;
        onPrompt();
        send(3, "session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
      }
      if (asked === 3 && text.includes(until)) resolve(performance.now());
    });
    send(1, "initialize", { protocolVersion: 1 });
  });
}

/** Pieces without a delay arrive in one turn of the event loop, spaced pieces in many. */
async function longAnswer(
  folder: string,
  { rounds, chunks, delayMs }: { rounds: number; chunks: number; delayMs: number },
): Promise<BenchTable> {
  const text = "word word word word wor ".repeat(chunks);
  const at = place(folder, `long-${delayMs}`, { text, delayMs });
  const json: number[] = [];
  const acp: number[] = [];
  let updates = 0;
  for (let round = 0; round <= rounds; round += 1) {
    const jsonMs = await cpuMs(() => inProcess(at, ["--mode", "json", "-p", "hi"], undefined, () => {}));
    updates = 0;
    const acpMs = await cpuMs(async () => {
      await serveClient(at, '"stopReason"', (text) => {
        if (text.includes("agent_message_chunk")) updates += 1;
      });
    });
    if (round === 0) continue;
    json.push(jsonMs);
    acp.push(acpMs);
  }
  return {
    title: `CPU time of an answer in ${chunks} pieces, ${delayMs === 0 ? "at once" : `one every ${delayMs} ms`}`,
    columns: ["way", "median", "ratio"],
    rows: [
      ["--mode json", ms(median(json)), "1.00x"],
      ["--mode acp", ms(median(acp)), `${(median(acp) / median(json)).toFixed(2)}x`],
    ],
    notes: [`--mode acp sent ${updates} updates`],
  };
}

async function inProcess(
  { cwd, env, model }: Place,
  words: readonly string[],
  stdin: PassThrough | undefined,
  write: (text: string) => void,
): Promise<void> {
  await run([...words, ...model], {
    ...{ cwd, env, stdin, now: Date.now },
    stdout: { write },
    stderr: { write: () => true },
    interruptible: (work) => work(new AbortController().signal),
  });
}

async function cpuMs(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
