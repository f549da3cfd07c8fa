import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchTable } from "@bonsai-agent/testkit";

const ROUNDS = 7;
const root = fileURLToPath(new URL("../../..", import.meta.url));

interface Way {
  words: string[];
  env: Record<string, string>;
  /** Stands in the first frame. */
  mark: string;
}

/** From the start of the process to the first frame with an editor, on a pseudo terminal that `script` makes. */
export default async function bench(): Promise<BenchTable> {
  const turbo = join(root, "node_modules/.bin/turbo");
  execFileSync(turbo, ["run", "build", "--output-logs=errors-only"], { cwd: root });
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  try {
    const ways = waysOf(folder);
    const measured = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
    // The first round fills the caches of compiled code.
    for (let round = 0; round <= ROUNDS; round += 1)
      for (const [name, way] of Object.entries(ways)) {
        const ms = await firstFrameMs(way, folder);
        if (round > 0) measured.get(name)!.push(ms);
      }
    const bareMs = median(measured.get("bare node")!);
    return {
      title: "From the start of the process to the first frame",
      columns: ["way", "median", "ratio"],
      rows: [...measured].map(([name, values]) => [
        name,
        `${Math.round(median(values))} ms`,
        `${(median(values) / bareMs).toFixed(2)}x`,
      ]),
      notes: ["bare node: a line on the same pseudo terminal", "first frame: the rule of the editor"],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function waysOf(folder: string): Record<string, Way> {
  const scenario = join(folder, "scenario.json");
  writeFileSync(scenario, JSON.stringify({ turn: [{ text: "Good." }], atEnd: "repeat" }));
  const home = join(folder, "home");
  mkdirSync(home);
  return {
    "bare node": { words: ["-e", "console.log('─────')"], env: {}, mark: "─────" },
    bonsai: {
      words: [join(root, "packages/cli/bin/bonsai.js"), "--model", `scripted/${scenario}`],
      env: { BONSAI_HOME: home },
      mark: "─────",
    },
    "bonsai, with the model in the footer": {
      words: [join(root, "packages/cli/bin/bonsai.js"), "--model", `scripted/${scenario}`],
      env: { BONSAI_HOME: home },
      mark: "scripted",
    },
    ...peer(folder),
  };
}

/** pi, where it is installed. */
function peer(folder: string): Record<string, Way> {
  const installed = process.env.BONSAI_BENCH_PEER || undefined;
  if (installed === undefined) return {};
  const home = join(folder, "peer");
  mkdirSync(home);
  const model = { id: "actor", name: "Actor", contextWindow: 200_000, maxTokens: 8_000 };
  const provider = {
    baseUrl: "http://127.0.0.1:9/v1",
    api: "openai-completions",
    apiKey: "none",
    models: [model],
  };
  writeFileSync(join(home, "models.json"), JSON.stringify({ providers: { bench: provider } }));
  const cli = join(installed, "node_modules/@earendil-works/pi-coding-agent/dist/cli.js");
  return {
    pi: {
      words: [cli, "--provider", "bench", "--model", "actor", "--no-session"],
      env: { PI_CODING_AGENT_DIR: home, PI_OFFLINE: "1" },
      mark: "─────",
    },
  };
}

async function firstFrameMs({ words, env, mark }: Way, cwd: string): Promise<number> {
  const quoted = [process.execPath, ...words].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const command = `stty cols 100 rows 30; exec ${quoted}`;
  const started = performance.now();
  const child = spawn("script", ["-qfc", command, "/dev/null"], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, TERM: "xterm-256color", ...env },
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (data) => {
    text += data;
    if (text.includes(mark)) resolve(performance.now() - started);
  });
  child.once("close", () => reject(new Error(`No frame came: ${text}`)));
  try {
    return await promise;
  } finally {
    child.kill("SIGKILL");
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
