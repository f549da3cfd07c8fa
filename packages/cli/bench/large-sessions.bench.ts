import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchTable } from "@bonsai-agent/testkit";

const ENTRIES = Number(process.env.BONSAI_BENCH_ENTRIES || 50_000);
const root = fileURLToPath(new URL("../../..", import.meta.url));
const bonsai = join(root, "packages/cli/bin/bonsai.js");

/** What anyone would write first: the whole file, each line parsed and held. */
const NAIVE = `const entries = require("node:fs").readFileSync(process.argv[1], "utf8").split("\\n").filter(Boolean).map(JSON.parse)`;

/** Where entries hang, by their place: -1 before the first. */
const shapes = {
  line: (at: number) => at - 1,
  comb: (at: number) => (at % 2 === 0 ? at - 2 : at - 1),
  star: (at: number) => Math.min(0, at - 1),
};

const commands: { shape: keyof typeof shapes; args: string[] }[] = [
  { shape: "comb", args: ["show"] },
  { shape: "comb", args: ["tree"] },
  { shape: "line", args: ["tree", "--json"] },
  { shape: "line", args: ["context", "--json"] },
  { shape: "line", args: ["compact", "--dry-run"] },
  { shape: "line", args: ["compact", "--digest"] },
  { shape: "star", args: ["export", "--all"] },
  { shape: "comb", args: ["doctor"] },
];

/** Each command at one size and at four times that: four times the work is linear. */
export default async function bench(): Promise<BenchTable> {
  const turbo = join(root, "node_modules/.bin/turbo");
  execFileSync(turbo, ["run", "build", "--output-logs=errors-only"], { cwd: root });
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  try {
    const start = measured(folder, [bonsai, "--help"]);
    const rows = commands.map(({ shape, args }) => row(folder, { shape, args, startMs: start.cpuMs }));
    return {
      title: `Commands on sessions of ${ENTRIES.toLocaleString("en")} and of four times as many entries`,
      columns: [
        "command",
        "shape",
        "file",
        "CPU at N",
        "at 4N",
        "growth",
        "peak memory",
        "of parsing all lines",
      ],
      rows,
      notes: [
        "growth: without the start of the process; linear is 4x",
        "peak memory at 4N, and as a share of the naive way's",
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function row(
  folder: string,
  { shape, args, startMs }: { shape: keyof typeof shapes; args: string[]; startMs: number },
): string[] {
  const [small, large] = [ENTRIES, 4 * ENTRIES].map((count) => sessionFile(folder, shape, count));
  const run = (file: string) => {
    const copy = join(folder, "copy.jsonl");
    copyFileSync(file, copy);
    const [command, ...flags] = args;
    return measured(folder, [bonsai, command!, copy, ...flags]);
  };
  const [first, second, naive] = [run(small!), run(large!), measured(folder, ["-e", NAIVE, large!])];
  const growth = (second.cpuMs - startMs) / (first.cpuMs - startMs);
  return [
    args.join(" "),
    shape,
    megabytes(statSync(large!).size),
    `${Math.round(first.cpuMs)} ms`,
    `${Math.round(second.cpuMs)} ms`,
    `${growth.toFixed(1)}x`,
    megabytes(second.peakBytes),
    `${(second.peakBytes / naive.peakBytes).toFixed(2)}x`,
  ];
}

/** Short messages, and a compaction now and then where the tree branches. */
function sessionFile(folder: string, shape: keyof typeof shapes, count: number): string {
  const file = join(folder, `${shape}-${count}.jsonl`);
  const fd = openSync(file, "w");
  const timestamp = "2026-01-01T00:00:00.000Z";
  writeSync(
    fd,
    `${JSON.stringify({ type: "session", version: 3, id: "5e551011-0000-4000-8000-000000000000", timestamp, cwd: "/p" })}\n`,
  );
  for (let at = 0; at < count; at += 1) {
    const parent = shapes[shape](at);
    const place = { id: idOf(at), parentId: parent < 0 ? null : idOf(parent), timestamp };
    const isCompaction = shape === "comb" && at % 100 === 98;
    const entry = isCompaction
      ? {
          type: "compaction",
          ...place,
          summary: `Until ${at}.`,
          firstKeptEntryId: idOf(parent),
          tokensBefore: 9,
        }
      : { type: "message", ...place, message: message(at) };
    writeSync(fd, `${JSON.stringify(entry)}\n`);
  }
  closeSync(fd);
  return file;
}

function idOf(at: number): string {
  return at.toString(16).padStart(8, "0");
}

function message(at: number): object {
  if (at % 4 === 0) return { role: "user", content: `Please look at item ${at}`, timestamp: at };
  const content = [{ type: "text", text: `Item ${at} is fine, and so is src/file${at}.ts.` }];
  return { role: "assistant", content, provider: "x", model: "m", stopReason: "stop", timestamp: at };
}

/** CPU time and peak memory of a process of its own. */
function measured(folder: string, args: string[]): { cpuMs: number; peakBytes: number } {
  const figures = join(folder, "figures.json");
  const script = `import { writeFileSync } from "node:fs";
    process.on("exit", () => writeFileSync(${JSON.stringify(figures)}, JSON.stringify(process.resourceUsage())));`;
  const hook = `data:text/javascript,${encodeURIComponent(script)}`;
  const { status } = spawnSync(process.execPath, ["--import", hook, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, BONSAI_HOME: join(folder, "home") },
  });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}.`);
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(
    readFileSync(figures, "utf8"),
  ) as NodeJS.ResourceUsage;
  return { cpuMs: (userCPUTime + systemCPUTime) / 1000, peakBytes: maxRSS * 1024 };
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
