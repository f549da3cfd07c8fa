import { execFileSync, spawnSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { AgentProject } from "../agent-project.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const patienceMs = 20_000;
/** tmux tells nobody that its screen has changed. */
const lookEveryMs = 40;

export interface TmuxOptions {
  project: AgentProject;
  argv?: readonly string[];
  columns?: number;
  rows?: number;
}

/** `bonsai` in a window of tmux, with a server of its own. */
export class Tmux {
  readonly #socket = `bonsai-${process.pid}-${Math.random().toString(36).slice(2)}`;

  constructor({ project, argv = [], columns = 80, rows = 24 }: TmuxOptions) {
    const node = [process.execPath, "--conditions=@bonsai-agent/source", "--no-warnings", main];
    const words = [...node, ...argv, ...project.model].map((word) => `'${word}'`).join(" ");
    const env = { ...project.env, NO_COLOR: "1" };
    const settings = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const size = ["-x", String(columns), "-y", String(rows)];
    // The shell stays, so that what is printed at the end can be seen.
    const command = `${words}; echo "ended with $?"; exec cat`;
    this.#run("-f", "/dev/null", "new-session", "-d", ...size, ...settings, "-c", project.cwd, command);
    this.#run("set-option", "-g", "escape-time", "0");
    onTestFinished(() => void spawnSync("tmux", ["-L", this.#socket, "kill-server"]));
  }

  /** Types text as it is. */
  type(text: string): void {
    this.#run("send-keys", "-l", text);
  }

  /** Presses keys by tmux's names: `Enter`, `Escape`, `C-c`, `Up`. */
  press(...keys: string[]): void {
    this.#run("send-keys", ...keys);
  }

  resize(columns: number, rows: number): void {
    this.#run("resize-window", "-x", String(columns), "-y", String(rows));
  }

  screen(): string {
    return this.#run("capture-pane", "-p").trimEnd();
  }

  /** With what left the screen at its top. */
  scrollback(): string {
    return this.#run("capture-pane", "-p", "-S", "-").trimEnd();
  }

  /** Kills bonsai, and only it, without a warning. */
  kill(): void {
    const shell = this.#run("display-message", "-p", "#{pane_pid}").trim();
    const [child] = execFileSync("ps", ["-o", "pid=", "--ppid", shell], { encoding: "utf8" })
      .trim()
      .split(/\s+/);
    process.kill(Number(child), "SIGKILL");
  }

  async until(what: string | RegExp): Promise<string> {
    const before = Date.now() + patienceMs;
    for (;;) {
      const screen = this.screen();
      if (typeof what === "string" ? screen.includes(what) : what.test(screen)) return screen;
      if (Date.now() > before) throw new Error(`This never came: ${what}\nThe screen:\n${screen}`);
      await pause(lookEveryMs);
    }
  }

  #run(...words: string[]): string {
    return execFileSync("tmux", ["-L", this.#socket, ...words], { encoding: "utf8" });
  }
}
