import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type BenchTable, installCommand } from "@bonsai-agent/testkit";
import { rowsOfSessions } from "./examples/rows-of-sessions.ts";
import { rowsOfTools } from "./examples/rows-of-tools.ts";
import { rowsOfViews } from "./examples/rows-of-views.ts";
import { openStage, type Stage } from "./examples/stage.ts";
import type { Step } from "./examples/steps.ts";

/** The driven versions of pi; `PI_VERSIONS=0.87.1` for one. */
const versions = (process.env.PI_VERSIONS ?? "0.87.1,1.5.2").split(",");
/** `PI_EXAMPLES=snake,todo` for a few. */
const only = process.env.PI_EXAMPLES?.split(",");
const rows = [...rowsOfViews, ...rowsOfTools, ...rowsOfSessions];

/**
 * Drives each example of pi's package in the installed command, on a pseudo terminal, with a model that says what its row has for
 * it. Packages come from the registry, or from `PI_PACKAGES/VERSION/package`. The command is the one that `pnpm build`
 * built, packed and installed.
 */
export default async function bench(): Promise<BenchTable[]> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-pi-"));
  try {
    const tables: BenchTable[] = [];
    const { program } = installCommand(folder);
    for (const version of versions)
      tables.push(await drivenTable(version, { folder: examplesOf(version, folder), program }));
    return tables;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The folder of its extensions. */
function examplesOf(version: string, folder: string): string {
  const local = process.env.PI_PACKAGES;
  const below = local === undefined ? fetched(version, folder) : join(local, version);
  return join(below, "package/examples/extensions");
}

function fetched(version: string, folder: string): string {
  const place = join(folder, version);
  mkdirSync(place);
  const options = { cwd: place, encoding: "utf8", stdio: "pipe" } as const;
  const name = execFileSync(
    "npm",
    ["pack", "--silent", `@earendil-works/pi-coding-agent@${version}`],
    options,
  );
  execFileSync("tar", ["xzf", name.trim()], options);
  return place;
}

type Outcome = "does its job" | "missing" | "not driven";

async function drivenTable(
  version: string,
  { folder, program }: { folder: string; program: string },
): Promise<BenchTable> {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".ts") || statSync(join(folder, name)).isDirectory())
    .map((name) => basename(name, ".ts"))
    .filter((name) => only === undefined || only.includes(name));
  const counts = new Map<Outcome, number>();
  const lines: string[][] = [];
  for (const name of names) {
    const [outcome, ...cells] = await driven(version, { path: join(folder, name), program });
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    lines.push([name, outcome, ...cells]);
    console.error(`${version} ${name}: ${[outcome, ...cells].join(" · ")}`);
  }
  const count = (outcome: Outcome) => counts.get(outcome) ?? 0;
  return {
    title: `The ${names.length} examples of pi ${version}: ${count("does its job")} do their job, ${count("missing")} do not, ${count("not driven")} could not be driven on this machine`,
    columns: ["example", "here", "what"],
    rows: lines,
    notes: [
      "each ran in the command itself, on a pseudo terminal of 120 x 40, with a model on the loopback device",
    ],
  };
}

async function driven(
  version: string,
  { path, program }: { path: string; program: string },
): Promise<[Outcome, string]> {
  const name = basename(path);
  const row = rows.find(({ example }) => example === name);
  if (row === undefined) return ["missing", "no row says how it is driven"];
  if (row.needs !== undefined && spawnSync("sh", ["-c", row.needs]).status !== 0)
    return ["not driven", `needs ${row.needs}`];
  const stage = await openStage(program, path, row);
  try {
    const failure = await firstFailure([opened, ...row.steps, ...(row.more?.[version] ?? [])], stage);
    if (failure === undefined) return ["does its job", row.job];
    return ["missing", row.why ?? failure];
  } finally {
    await stage.close();
  }
}

const opened: Step = {
  what: "it opens",
  run: ({ terminal, ended }) =>
    Promise.race([
      terminal.until(/Type a task|\/project\b/),
      ended.then(() => Promise.reject(new Error("It has ended."))),
    ]),
};

async function firstFailure(steps: readonly Step[], stage: Stage): Promise<string | undefined> {
  for (const step of steps) {
    try {
      await step.run(stage);
    } catch {
      return failed(stage, step.what);
    }
  }
  return undefined;
}

/** The step that came to nothing; with `PI_SCREENS=1` the screen as it was then. */
function failed({ terminal }: Stage, what: string): string {
  if (process.env.PI_SCREENS !== undefined) console.error(terminal.screen());
  return `not seen: ${what}`;
}
