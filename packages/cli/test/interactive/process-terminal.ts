import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { AgentProject } from "../agent-project.ts";
import { HeadlessTerminal, type HeadlessTerminalOptions } from "./headless-terminal.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface OpenProcessOptions extends HeadlessTerminalOptions {
  project: AgentProject;
  /** Behind `bonsai`; the model's flags come behind them. */
  argv?: readonly string[];
  /** Default true; without, no model is named on the command line. */
  withModel?: boolean;
  env?: Record<string, string>;
}

export interface OpenedProcess {
  terminal: HeadlessTerminal;
  /** Of bonsai itself. */
  pid: number;
  /** The exit code; of a signal, 128 and its number. */
  ended: Promise<number>;
  /** Kills bonsai, and only it, without a warning. */
  kill(): void;
}

/** Starts `bonsai` as a process of its own on a pseudo terminal, which `script` makes. */
export async function openProcess(options: OpenProcessOptions): Promise<OpenedProcess> {
  const { columns = 80, rows = 24, project, argv = [], withModel = true } = options;
  const words = [...argv, ...(withModel ? project.model : [])].map(quoted).join(" ");
  const node = `${quoted(process.execPath)} --conditions=@bonsai-agent/source --no-warnings ${quoted(main)}`;
  const command = `stty cols ${columns} rows ${rows}; echo "$$ $(tty)"; exec ${node} ${words}`;
  const { CI: _ci, ...inherited } = process.env;
  const child = spawn("script", scriptWords(command), {
    cwd: project.cwd,
    env: { ...inherited, TERM: "xterm-256color", NO_COLOR: "1", ...project.env, ...options.env },
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? -1));
  });
  const { pid, tty, rest } = await firstLine(child, ended);
  const kill = () => killIfThere(pid);
  onTestFinished(() => {
    kill();
    child.kill("SIGKILL");
  });
  const terminal = new HeadlessTerminal(options);
  terminal.start(
    (data) => child.stdin.write(data),
    () => setSize(tty, terminal),
  );
  terminal.write(rest);
  child.stdout.on("data", (data: Buffer) => terminal.write(data.toString()));
  ended.then((code) => terminal.leave(`bonsai ended with ${code}`));
  return { terminal, pid, ended, kill };
}

function scriptWords(command: string): string[] {
  return process.platform === "darwin"
    ? ["-q", "/dev/null", "sh", "-c", command]
    : ["-qefc", command, "/dev/null"];
}

/** What the shell says before it becomes bonsai. */
async function firstLine(child: ChildProcessWithoutNullStreams, ended: Promise<number>) {
  child.stdout.setEncoding("utf8");
  let text = "";
  while (!text.includes("\n")) {
    const more = new Promise<string>((resolve) => child.stdout.once("data", resolve));
    text += await Promise.race([
      more,
      ended.then((code) => Promise.reject(new Error(`script ended: ${code}`))),
    ]);
  }
  const [, pid, tty] = /(\d+) (\S+)/.exec(text) ?? [];
  if (pid === undefined || tty === undefined) throw new Error(`No terminal was made: ${text}`);
  return { pid: Number(pid), tty, rest: text.slice(text.indexOf("\n") + 1) };
}

function setSize(tty: string, { columns, rows }: HeadlessTerminal): void {
  const file = process.platform === "darwin" ? "-f" : "-F";
  spawnSync("stty", [file, tty, "cols", String(columns), "rows", String(rows)]);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
