import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BenchTable } from "@bonsai-agent/testkit";

const ROUNDS = Number(process.env.LOAD_ROUNDS ?? 5);
/** `LOAD_ONLY=none,pi-mermaid,nine` for a few. */
const only = process.env.LOAD_ONLY?.split(",");
const PI_VERSION = "1.5.2";
const packages = [
  "pi-subagents",
  "pi-web-access",
  "pi-mcp-adapter",
  "pi-markdown-preview",
  "pi-mermaid",
  "pi-aliases",
  "pi-plan-mode",
  "pi-prompt-template-model",
  "@tmustier/pi-ralph-wiggum",
  "@baochunli/pi-collaborating-agents",
];
const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** Writes the process's own time to a file when it ends. */
const clock = `import { writeFileSync } from "node:fs";
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  writeFileSync(process.env.BENCH_CPU_FILE, String((user + system) / 1000));
});`;

type Command = "bonsai" | "pi";

interface Run {
  cpuMs: number;
  wallMs: number;
}

/**
 * Starts the packed, installed command and pi with the same packages of npm, in turn, and asks both for their commands.
 * `LOAD_FOLDER` names a folder that keeps what was installed: `bonsai`, `pi` and `packages`.
 */
export default async function bench(): Promise<BenchTable> {
  const folder = process.env.LOAD_FOLDER ?? mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  try {
    return await compared(folder);
  } finally {
    if (process.env.LOAD_FOLDER === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function compared(folder: string): Promise<BenchTable> {
  const bins: Record<Command, string> = {
    bonsai: join(folder, "bonsai/node_modules/bonsai-agent/bin/bonsai.js"),
    pi: join(folder, "pi/node_modules/@earendil-works/pi-coding-agent/dist/cli.js"),
  };
  install(folder);
  writeFileSync(join(folder, "clock.mjs"), clock);
  const entries = packages.map((name) => join(folder, "packages/node_modules", name));
  const sets: [string, string[]][] = [
    ["none", []],
    ...packages.map((name, at): [string, string[]] => [name, [entries[at] as string]]),
    // pi refuses the last one beside the first: both have a tool of one name.
    ["nine", entries.slice(0, -1)],
  ];
  const rows: string[][] = [];
  for (const [name, extensions] of sets.filter(([name]) => only?.includes(name) ?? true)) {
    for (const state of ["cold", "warm"] as const) {
      const runs: Record<Command, Run[]> = { bonsai: [], pi: [] };
      for (let round = 0; round < ROUNDS; round++) {
        for (const command of ["bonsai", "pi"] as const) {
          if (state === "cold") rmSync(join(folder, "home", command), { recursive: true, force: true });
          runs[command].push(await start(command, bins[command], extensions, folder));
        }
      }
      rows.push([name, state, ...ratios(runs)]);
    }
  }
  return {
    title: `Starting with packages of pi: bonsai against pi ${PI_VERSION}`,
    columns: ["packages", "caches", "cpu", "pi", "ratio", "wall", "pi", "ratio"],
    rows,
    notes: [
      `Whole processes, from the start to the end after one request for the commands. Medians of ${ROUNDS} pairs.`,
      "Cold: all caches were removed before each run. Target: no ratio above 1.",
    ],
  };
}

function install(folder: string): void {
  const options = { stdio: "inherit" } as const;
  const npm = (place: string, ...what: string[]) => {
    const cwd = join(folder, place);
    if (existsSync(join(cwd, "node_modules"))) return;
    mkdirSync(cwd, { recursive: true });
    writeFileSync(join(cwd, "package.json"), "{}");
    // Peers are pi's own packages, which both commands supply.
    const flags = ["--legacy-peer-deps", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
    execFileSync("npm", ["install", "--silent", ...flags, ...what], { ...options, cwd });
  };
  if (!existsSync(join(folder, "bonsai/node_modules"))) {
    execFileSync("pnpm", ["pack:command", folder], { ...options, cwd: repository });
    npm("bonsai", join(folder, "bonsai-agent-0.0.0.tgz"));
  }
  npm("pi", `@earendil-works/pi-coding-agent@${PI_VERSION}`);
  npm("packages", ...packages);
}

function start(command: Command, bin: string, extensions: readonly string[], folder: string): Promise<Run> {
  const home = join(folder, "home", command);
  mkdirSync(join(home, "tmp"), { recursive: true });
  const cpuFile = join(folder, "cpu.txt");
  const flags = ["--mode", "rpc", "--no-session", ...extensions.flatMap((path) => ["-e", path])];
  const startedMs = performance.now();
  const child = spawn(
    process.execPath,
    ["--import", pathToFileURL(join(folder, "clock.mjs")).href, bin, ...flags],
    {
      cwd: home,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        BONSAI_HOME: join(home, ".bonsai"),
        TMPDIR: join(home, "tmp"),
        BENCH_CPU_FILE: cpuFile,
        PI_OFFLINE: "1",
        ANTHROPIC_API_KEY: "none",
      },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  child.stdin.write(`{"type":"get_commands","id":"asked"}\n`);
  let printed = "";
  child.stdout.on("data", (text: Buffer) => {
    printed += text;
    if (/"id":"asked".*\n/.test(printed)) child.stdin.end();
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      if (!printed.includes('"success":true')) reject(new Error(`${command} ${flags.join(" ")}: ${code}`));
      resolve({ cpuMs: Number(readFileSync(cpuFile, "utf8")), wallMs: performance.now() - startedMs });
    });
  });
}

function ratios({ bonsai, pi }: Record<Command, Run[]>): string[] {
  return (["cpuMs", "wallMs"] as const).flatMap((figure) => {
    const [ours, theirs] = [median(bonsai, figure), median(pi, figure)];
    return [`${ours.toFixed(0)} ms`, `${theirs.toFixed(0)} ms`, (ours / theirs).toFixed(2)];
  });
}

function median(runs: readonly Run[], figure: keyof Run): number {
  return runs.map((run) => run[figure]).sort((a, b) => a - b)[runs.length >> 1] as number;
}
