import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { type IPty, spawn } from "@lydell/node-pty";
import { HeadlessTerminal } from "../../packages/cli/test/interactive/headless-terminal.ts";
import { PAPER } from "./draw.ts";

const main = fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url));
const clock = fileURLToPath(new URL("shown-clock.ts", import.meta.url));
const bonsai = ["--conditions=@bonsai-agent/source", "--no-warnings", "--import", clock, main];
/** Shortly after the end of the generated workday. */
const SHOWN_AT = "2026-01-05T17:20:00.000Z";
/** A screen is still if nothing has moved for this long. */
const STILL_MS = 300;

/** A home with a project in it, where `bonsai` runs for a picture. */
export class Studio {
  readonly home = mkdtempSync(join(tmpdir(), "bonsai-pictures-"));
  readonly project = join(this.home, "shop");
  #pty: IPty | undefined;

  constructor() {
    mkdirSync(this.project);
    mkdirSync(join(this.home, ".bonsai"));
    execFileSync("git", ["init", "--quiet", "--initial-branch=main", this.project]);
  }

  /** Opens the terminal mode. */
  open(size: { columns: number; rows: number }, ...argv: string[]): HeadlessTerminal {
    const terminal = new HeadlessTerminal({ ...size, background: PAPER });
    const pty = spawn(process.execPath, [...bonsai, ...argv], {
      ...{ cols: size.columns, rows: size.rows, cwd: this.project },
      env: this.#env(),
    });
    terminal.start(
      (data) => pty.write(data),
      () => {},
    );
    pty.onData((data) => terminal.write(data));
    this.#pty = pty;
    return terminal;
  }

  /** Waits until nothing moves. */
  async still(terminal: HeadlessTerminal): Promise<void> {
    for (let before = ""; before !== terminal.screen(); await pause(STILL_MS)) before = terminal.screen();
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

  /** Writes `local/oak`, a model that follows a scenario. */
  writeModel(scenario: Scenario): void {
    const baseUrl = this.write(".bonsai/scenario.json", JSON.stringify(scenario));
    const models = [
      { id: "oak", name: "Oak", contextWindow: scenario.contextWindow, maxOutputTokens: 8_000 },
    ];
    const providers = [{ provider: "local", api: "scripted", baseUrl, models }];
    this.write(".bonsai/models.json", JSON.stringify({ providers }));
  }

  close(): void {
    this.#pty?.kill("SIGKILL");
    rmSync(this.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  #env(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "",
      ...{ HOME: this.home, TMPDIR: this.home, TZ: "UTC", LANG: "C.UTF-8" },
      ...{ TERM: "xterm-256color", COLORTERM: "truecolor", BONSAI_PICTURES_AT: SHOWN_AT },
    };
  }
}
