import { execFileSync, spawnSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { isSeen, type Seen } from "../interactive/headless-terminal.ts";
import { keySequence } from "../interactive/key-sequences.ts";
import { type LiveOptions, type LiveTerminal, liveEnvironment, shellLine } from "./live-terminal.ts";

const patienceMs = 20_000;
/** tmux tells nobody that its screen has changed. */
const lookEveryMs = 40;

/** `bonsai` in a window of tmux, with a server of its own. */
export function openTmux(options: LiveOptions): LiveTerminal {
  return new Tmux(options);
}

class Tmux implements LiveTerminal {
  readonly #socket = `bonsai-${process.pid}-${Math.random().toString(36).slice(2)}`;

  constructor(options: LiveOptions) {
    const { columns = 80, rows = 24, project } = options;
    const size = ["-x", String(columns), "-y", String(rows)];
    const settings = [
      "set-option",
      "-g",
      "escape-time",
      "0",
      ";",
      "set-option",
      "-g",
      "remain-on-exit",
      "on",
    ];
    const window = ["new-session", "-d", ...size, "-c", project.cwd, shellLine(options)];
    const words = ["-L", this.#socket, "-f", "/dev/null", "start-server", ";", ...settings, ";", ...window];
    execFileSync("tmux", words, { env: liveEnvironment(options) });
    onTestFinished(() => void spawnSync("tmux", ["-L", this.#socket, "kill-server"]));
  }

  type(text: string): void {
    this.#send(text.replaceAll("\n", "\r"));
  }

  press(...keys: string[]): void {
    for (const key of keys) this.#send(keySequence(key));
  }

  resize(columns: number, rows: number): void {
    this.#run("resize-window", "-x", String(columns), "-y", String(rows));
  }

  screen(): string {
    return this.#run("capture-pane", "-p").trimEnd();
  }

  scrollback(): string {
    return this.#run("capture-pane", "-p", "-S", "-").trimEnd();
  }

  async until(what: Seen): Promise<string> {
    const before = Date.now() + patienceMs;
    for (;;) {
      const screen = this.screen();
      if (isSeen(screen, what)) return screen;
      if (Date.now() > before) throw new Error(`This never came: ${what}\nThe screen:\n${screen}`);
      await pause(lookEveryMs);
    }
  }

  #send(text: string): void {
    this.#run("send-keys", "-H", ...Array.from(Buffer.from(text), (byte) => byte.toString(16)));
  }

  #run(...words: string[]): string {
    return execFileSync("tmux", ["-L", this.#socket, ...words], { encoding: "utf8" });
  }
}
