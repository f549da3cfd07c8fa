import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { TaskInput, TaskName } from "./tasks.ts";

/** The median measures of several fresh processes. */
export interface Measure {
  /** The work alone, without the start of the process and the loading of packages. */
  ms: number;
  /** Peak resident memory of the whole process. */
  peakBytes: number;
  /** The result of the work, to compare two ways with each other. */
  result: string;
}

export type TaskArguments = Partial<Omit<TaskInput, "task" | "session" | "peer">>;

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const PEER_MODULE = "node_modules/@earendil-works/pi-coding-agent/dist/core/session-manager.js";

/** The temp folder and the processes of one bench; `end()` removes the folder. */
export class BenchRun {
  readonly folder: string;
  /** The folder in which pi is installed, the peer to measure. */
  readonly #peer = process.env.BONSAI_BENCH_PEER || undefined;
  readonly #script: string;

  /** Tasks run on built JavaScript: what the loader of TypeScript takes is not to be measured. */
  constructor() {
    const tsc = join(repository, "node_modules/typescript/bin/tsc");
    execFileSync(process.execPath, [tsc, "-b", "packages/session"], { cwd: repository, stdio: "inherit" });
    this.folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
    this.#script = join(this.folder, "tasks.mjs");
    const source = readFileSync(new URL("./tasks.ts", import.meta.url), "utf8");
    writeFileSync(this.#script, stripTypeScriptTypes(source));
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Those of the tasks that can run here: the peer's only where it is installed. */
  available(tasks: readonly TaskName[]): TaskName[] {
    return tasks.filter((task) => this.#peer !== undefined || !task.endsWith("peer"));
  }

  /** Runs the tasks in turn, each in a process of its own, `rounds` times; medians by task. */
  compare(tasks: readonly TaskName[], args: TaskArguments, rounds = 3): Map<TaskName, Measure> {
    const measures = new Map(this.available(tasks).map((task) => [task, [] as Measure[]]));
    for (let round = 0; round < rounds; round++) {
      for (const [task, done] of measures) done.push(this.run(task, args));
    }
    return new Map([...measures].map(([task, done]) => [task, median(done)]));
  }

  run(task: TaskName, args: TaskArguments = {}): Measure {
    const session = pathToFileURL(join(repository, "packages/session/dist/index.js")).href;
    const peer = this.#peer === undefined ? undefined : pathToFileURL(join(this.#peer, PEER_MODULE)).href;
    const input = JSON.stringify({ task, session, peer, ...args });
    const output = execFileSync(process.execPath, ["--expose-gc", this.#script, input], { encoding: "utf8" });
    return JSON.parse(output.trimEnd().split("\n").at(-1)!) as Measure;
  }

  end(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function median(measures: readonly Measure[]): Measure {
  const middle = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1]!;
  return {
    ms: middle(measures.map(({ ms }) => ms)),
    peakBytes: middle(measures.map(({ peakBytes }) => peakBytes)),
    result: measures[0]!.result,
  };
}
