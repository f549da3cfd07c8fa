import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BenchTable, loopbackServer, sseChunks } from "@bonsai-agent/testkit";

const ROUNDS = 9;
const root = fileURLToPath(new URL("../../..", import.meta.url));
const bonsai = join(root, "packages/cli/bin/bonsai.js");

/** From the start of the process to the moment the server has the request. */
export default async function bench(): Promise<BenchTable> {
  execFileSync(join(root, "node_modules/.bin/turbo"), ["run", "build", "--output-logs=errors-only"], {
    cwd: root,
  });
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  let arrived = () => {};
  const server = await loopbackServer(() => {
    arrived();
    return { headers: { "content-type": "text/event-stream" }, chunks: answer() };
  });
  try {
    const ways = { ...waysOf(folder, `${server.url}/v1`) };
    const measured = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
    // The first round fills the caches of compiled code.
    for (let round = 0; round <= ROUNDS; round += 1)
      for (const [name, way] of Object.entries(ways)) {
        const ms = await firstByteMs(way, (then) => {
          arrived = then;
        });
        if (round > 0) measured.get(name)!.push(ms);
      }
    const bareMs = median(measured.get("bare openai SDK")!);
    return {
      title: "From the start of the process to the first request",
      columns: ["way", "median", "ratio"],
      rows: [...measured].map(([name, values]) => [
        name,
        `${Math.round(median(values))} ms`,
        `${(median(values) / bareMs).toFixed(2)}x`,
      ]),
      notes: ["bare openai SDK: a script that does nothing but one streamed call, from node_modules"],
    };
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A small extension, as people write them. */
const guard = `import type { ExtensionAPI } from "@bonsai-agent/extension";
export default function (bonsai: ExtensionAPI) {
  bonsai.on("tool_call", (event) => (event.toolName === "bash" ? { block: true, reason: "No shell." } : undefined));
  bonsai.registerCommand("guard", { handler: (_args, ctx) => ctx.ui.notify("On guard.") });
}
`;

interface Way {
  args: string[];
  env: Record<string, string>;
  cwd: string;
}

function waysOf(folder: string, baseUrl: string): Record<string, Way> {
  const home = join(folder, "home");
  const cwd = join(folder, "project");
  mkdirSync(home);
  mkdirSync(cwd);
  const model = { id: "actor", name: "Actor", contextWindow: 200_000, maxOutputTokens: 8_000 };
  const provider = { provider: "bench", api: "openai-chat", baseUrl, models: [model] };
  writeFileSync(join(home, "models.json"), JSON.stringify({ providers: [provider] }));
  writeFileSync(join(cwd, "guard.ts"), guard);
  const bare = `import OpenAI from "openai";
const client = new OpenAI({ baseURL: ${JSON.stringify(baseUrl)}, apiKey: "none" });
const stream = await client.chat.completions.create({ model: "actor", stream: true, messages: [{ role: "user", content: "hi" }] });
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
`;
  const args = ["-p", "hi", "--model", "bench/actor"];
  return {
    // Started where the SDK can be found.
    "bare openai SDK": {
      args: ["--input-type=module", "--eval", bare],
      env: {},
      cwd: join(root, "packages/agent"),
    },
    "bonsai -p": { args: [bonsai, ...args], env: { BONSAI_HOME: home }, cwd },
    "bonsai -p, one extension": {
      args: [bonsai, ...args, "-e", "guard.ts"],
      env: { BONSAI_HOME: home },
      cwd,
    },
    ...peer(folder, baseUrl, cwd),
  };
}

/** pi, where it is installed. */
function peer(folder: string, baseUrl: string, cwd: string): Record<string, Way> {
  const installed = process.env.BONSAI_BENCH_PEER || undefined;
  if (installed === undefined) return {};
  const home = join(folder, "peer");
  mkdirSync(home);
  const model = { id: "actor", name: "Actor", contextWindow: 200_000, maxTokens: 8_000 };
  const provider = { baseUrl, api: "openai-completions", apiKey: "none", models: [model] };
  writeFileSync(join(home, "models.json"), JSON.stringify({ providers: { bench: provider } }));
  const cli = join(installed, "node_modules/@earendil-works/pi-coding-agent/dist/cli.js");
  return {
    "pi -p": {
      args: [cli, "-p", "hi", "--provider", "bench", "--model", "actor", "--no-session"],
      env: { PI_CODING_AGENT_DIR: home, PI_OFFLINE: "1" },
      cwd,
    },
  };
}

async function firstByteMs(way: Way, onArrival: (then: () => void) => void): Promise<number> {
  const started = performance.now();
  let arrivedAt: number | undefined;
  onArrival(() => {
    arrivedAt ??= performance.now();
  });
  const child = spawn(process.execPath, way.args, {
    cwd: way.cwd,
    env: { PATH: process.env.PATH, HOME: tmpdir(), ...way.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (part) => {
    stderr += part;
  });
  await new Promise((resolve) => child.on("close", resolve));
  if (arrivedAt === undefined) throw new Error(`No request came: ${stderr}`);
  return arrivedAt - started;
}

function answer(): string[] {
  const head = { id: "1", object: "chat.completion.chunk", created: 0, model: "actor" };
  const choices = (delta: object, finish_reason: string | null) => [{ index: 0, delta, finish_reason }];
  return sseChunks([
    { data: { ...head, choices: choices({ content: "Good." }, null) } },
    { data: { ...head, choices: choices({}, "stop") } },
    { data: "[DONE]" },
  ]);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
