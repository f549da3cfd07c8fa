import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BenchTable } from "@bonsai-agent/testkit";
import type { LoadMeasure, LoadTask } from "./load-task.ts";

const ROUNDS = 5;
const RELOADS = 100;
const TARGET_RELOAD_MS = 10;
const repository = fileURLToPath(new URL("../../..", import.meta.url));
const ways = ["ours", "jiti"] as const;

/** An extension of some 200 lines with a local import and zod, both files edited before each reload. */
export default async function bench(): Promise<BenchTable> {
  const tsc = join(repository, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-b", "packages/extension"], { cwd: repository, stdio: "inherit" });
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  try {
    const measures = new Map(ways.map((way) => [way, [] as LoadMeasure[]]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [way, done] of measures) done.push(run(folder, way));
    }
    return tableOf(new Map([...measures].map(([way, done]) => [way, medians(done)])));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(folder: string, way: LoadTask["way"]): LoadMeasure {
  const script = join(folder, "task.mjs");
  writeFileSync(
    script,
    stripTypeScriptTypes(readFileSync(new URL("./load-task.ts", import.meta.url), "utf8")),
  );
  const task: LoadTask = {
    way,
    folder,
    extension: new URL("../dist/host/index.js", import.meta.url).href,
    jiti: import.meta.resolve("jiti"),
    reloads: RELOADS,
  };
  const output = execFileSync(process.execPath, ["--expose-gc", script, JSON.stringify(task)], {
    encoding: "utf8",
  });
  return JSON.parse(output) as LoadMeasure;
}

function medians(measures: readonly LoadMeasure[]): LoadMeasure {
  const of = (pick: (measure: LoadMeasure) => number) =>
    measures.map(pick).sort((a, b) => a - b)[measures.length >> 1] as number;
  return {
    firstMs: of(({ firstMs }) => firstMs),
    reloadMs: of(({ reloadMs }) => reloadMs),
    heapBytesPerReload: of(({ heapBytesPerReload }) => heapBytesPerReload),
    residentBytesPerReload: of(({ residentBytesPerReload }) => residentBytesPerReload),
  };
}

function tableOf(measures: ReadonlyMap<LoadTask["way"], LoadMeasure>): BenchTable {
  const ours = measures.get("ours") as LoadMeasure;
  const kilobytes = (bytes: number) => `${Math.round(bytes / 1024).toLocaleString("en")} kB`;
  return {
    title: "Loading an extension of 200 lines with a local import and zod",
    columns: ["way", "first load", "ratio", "reload", "ratio", "heap a reload", "resident a reload"],
    rows: [...measures].map(([way, each]) => [
      way,
      `${each.firstMs.toFixed(1)} ms`,
      `${(each.firstMs / ours.firstMs).toFixed(1)}x`,
      `${each.reloadMs.toFixed(1)} ms`,
      `${(each.reloadMs / ours.reloadMs).toFixed(1)}x`,
      kilobytes(each.heapBytesPerReload),
      kilobytes(each.residentBytesPerReload),
    ]),
    notes: [
      "First load: with zod, without the package itself. Reload: both files were edited; median.",
      `Target for a reload ${TARGET_RELOAD_MS} ms: ${ours.reloadMs < TARGET_RELOAD_MS ? "met" : "MISSED"}.`,
    ],
  };
}
