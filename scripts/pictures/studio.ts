import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { Recorder } from "./recorder.ts";

const main = fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url));
const clock = fileURLToPath(new URL("shown-clock.ts", import.meta.url));
const bonsai = ["--conditions=@bonsai-agent/source", "--no-warnings", "--import", clock, main];
/** The workday that the tree is of ends a little before. */
const shownAt = "2026-01-05T17:20:00.000Z";

export interface StudioOptions {
  /** What the model says. Without it there is none. */
  scenario?: Scenario;
  /** Of the project `~/shop`. */
  files?: Readonly<Record<string, string>>;
  /** Default 80. */
  columns?: number;
  /** Default 24. */
  rows?: number;
  argv?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/** A home with a project in it, where `bonsai` runs for a picture. */
export class Studio {
  readonly home = mkdtempSync(join(tmpdir(), "bonsai-pictures-"));
  readonly project = join(this.home, "shop");
  readonly #recorders: Recorder[] = [];

  constructor() {
    mkdirSync(this.project);
    mkdirSync(join(this.home, ".bonsai"));
    execFileSync("git", ["init", "--quiet", "--initial-branch=main", this.project]);
  }

  open({ scenario, files = {}, columns = 80, rows = 24, argv = [], env = {} }: StudioOptions): Recorder {
    for (const [name, content] of Object.entries(files)) this.write(join("shop", name), content);
    if (scenario !== undefined) this.#writeModel(scenario);
    const model = scenario === undefined ? [] : ["--model", "local/oak"];
    const recorder = new Recorder({
      ...{ columns, rows, cwd: this.project },
      command: [process.execPath, ...bonsai, ...model, ...argv],
      env: { ...this.#env(), ...env },
      renamed: [
        [new RegExp(`${this.home}\\b`), "~"],
        [/(bonsai-demo)-\w{6}\b/, "$1"],
      ],
    });
    this.#recorders.push(recorder);
    return recorder;
  }

  /** Runs `bonsai` without a terminal. */
  run(...argv: string[]): void {
    const options = { cwd: this.project, env: this.#env(), stdio: "ignore" } as const;
    execFileSync(process.execPath, [...bonsai, ...argv], options);
  }

  /** @param name below the home */
  write(name: string, content: string): string {
    const file = join(this.home, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  async close(): Promise<void> {
    await Promise.all(this.#recorders.map((recorder) => recorder.end()));
    rmSync(this.home, { recursive: true, force: true, maxRetries: 3 });
  }

  #env(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "",
      ...{ HOME: this.home, TMPDIR: this.home, TZ: "UTC", LANG: "C.UTF-8" },
      ...{ TERM: "xterm-256color", COLORTERM: "truecolor", BONSAI_PICTURES_AT: shownAt },
    };
  }

  #writeModel(scenario: Scenario): void {
    const baseUrl = this.write(".bonsai/scenario.json", JSON.stringify(scenario));
    const { contextWindow = 100_000, maxOutputTokens = 8_000 } = scenario;
    const models = [{ id: "oak", name: "Oak", contextWindow, maxOutputTokens }];
    const providers = [{ provider: "local", api: "scripted", baseUrl, models }];
    this.write(".bonsai/models.json", JSON.stringify({ providers }));
  }
}
