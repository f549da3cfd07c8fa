import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentProject } from "../agent-project.ts";
import { commandWords } from "../command-words.ts";
import type { HeadlessTerminal } from "../interactive/headless-terminal.ts";

export interface LiveOptions {
  project: AgentProject;
  /** Behind `bonsai`; the model's flags come behind them. */
  argv?: readonly string[];
  /** Default 80. */
  columns?: number;
  /** Default 24. */
  rows?: number;
}

/** A terminal on which a shell has started `bonsai`, and tells how it ended: `ended with 0`. */
export type LiveTerminal = Pick<
  HeadlessTerminal,
  "type" | "press" | "resize" | "screen" | "scrollback" | "until"
>;

/** The terminal is gone at the test's end, with what runs on it. */
export type OpenLive = (options: LiveOptions) => LiveTerminal;

/** What the shell does. It stays, so that what is said at the end is seen before the terminal closes. */
export function shellLine({ project, argv = [] }: LiveOptions): string {
  const words = [process.execPath, ...commandWords, ...argv, ...project.model].map(quoted).join(" ");
  const [pid, before, after] = ["pid", "before", "after"].map((name) => quoted(noteFile(project, name)));
  return [
    `stty -g > ${before}`,
    `sh -c 'echo $$ > "$0"; exec "$@"' ${pid} ${words}`,
    `code=$?; stty -g > ${after}; echo "ended with $code"; exec cat`,
  ].join("; ");
}

export function liveEnvironment({ project }: LiveOptions): Record<string, string> {
  const { CI: _ci, ...inherited } = process.env as Record<string, string>;
  return { ...inherited, TERM: "xterm-256color", NO_COLOR: "1", ...project.env };
}

/** Kills the project's latest `bonsai`, and only it; by default without a warning. */
export function killBonsai(project: AgentProject, signal: NodeJS.Signals = "SIGKILL"): void {
  process.kill(Number(readPid(project)), signal);
}

/** The settings of the terminal's line before `bonsai` came, and after it went, as `stty -g` writes them. */
export function lineSettings(project: AgentProject): { before: string; after: string } {
  const read = (name: string) => readFileSync(noteFile(project, name), "utf8");
  return { before: read("before"), after: read("after") };
}

/** The settings of the terminal's line now, as `stty -g` writes them. @param change what `stty` does instead */
export function currentLineSettings(project: AgentProject, change: readonly string[] = ["-g"]): string {
  const name = execFileSync("ps", ["-o", "tty=", "-p", readPid(project)], { encoding: "utf8" }).trim();
  const line = openSync(`/dev/${name}`, constants.O_RDWR | constants.O_NOCTTY);
  try {
    return execFileSync("stty", change, { encoding: "utf8", stdio: [line, "pipe", "pipe"] });
  } finally {
    closeSync(line);
  }
}

function readPid(project: AgentProject): string {
  return readFileSync(noteFile(project, "pid"), "utf8").trim();
}

function noteFile(project: AgentProject, name: string): string {
  return join(dirname(project.cwd), name);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
