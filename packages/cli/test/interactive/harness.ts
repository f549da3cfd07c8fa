import type { Scenario } from "@bonsai-agent/models/scripted";
import { onTestFinished } from "vitest";
import type { ExitCode } from "../../src/call/invocation.ts";
import type { CliIo } from "../../src/call/io.ts";
import { runInteractive } from "../../src/interactive/interactive-mode.ts";
import { keys } from "../../src/interactive/terminal/keys.ts";
import { type AgentProject, agentProject, nowMs } from "../call/agent-project.ts";
import { agentCall } from "./agent-call.ts";
import { HeadlessTerminal, type HeadlessTerminalOptions } from "./headless-terminal.ts";
// What the program loads once it is needed is there before a test begins: the first test does not wait for it.
import "../../src/interactive/session/run-session.ts";
import "../../src/call/start-extensions.ts";

export interface OpenInteractiveOptions extends HeadlessTerminalOptions {
  /** What the model says; not for a project of one's own. */
  scenario?: Scenario;
  /** Files of the project, by path. */
  files?: Record<string, string>;
  /** Of an earlier `openInteractive`, to come back to it; or one's own. */
  project?: AgentProject;
  /** Behind `bonsai`; the model's flags come behind them. */
  argv?: readonly string[];
  /** Default true; without, no model is named on the command line. */
  withModel?: boolean;
  /** Colours are off unless `NO_COLOR` is said to be empty. */
  env?: Record<string, string>;
  /** How the command line is read. Default: with the flags of these tests. */
  readCall?: typeof agentCall;
}

export interface OpenedInteractive {
  terminal: HeadlessTerminal;
  project: AgentProject;
  /** What the program ends with. */
  ended: Promise<ExitCode>;
  /** What was printed outside of the screen. */
  printed(): string;
  /** Asks the program to end, as SIGTERM does, and waits for it. The test's end does it too. */
  end(): Promise<ExitCode>;
}

/** Opens the interactive mode in this process, on a terminal without a window. */
export function openInteractive(options: OpenInteractiveOptions = {}): OpenedInteractive {
  const project = options.project ?? agentProject(options.scenario ?? silent, options.files);
  const terminal = new HeadlessTerminal(options);
  const stop = new AbortController();
  let printed = "";
  const stream = {
    isTTY: true,
    columns: terminal.columns,
    write: (text: string) => {
      printed += text;
    },
  };
  const io: CliIo = {
    stdout: stream,
    stderr: stream,
    stdin: { isTTY: true, async *[Symbol.asyncIterator]() {} },
    // The terminal without a window is one of xterm.js, as that of VS Code is.
    env: {
      NO_COLOR: "1",
      TERM_PROGRAM: "vscode",
      ...project.env,
      ...options.env,
    },
    cwd: project.cwd,
    now: () => nowMs,
    interruptible: (work) => work(stop.signal),
  };
  const argv = [...(options.argv ?? []), ...(options.withModel === false ? [] : project.model)];
  const ended = runInteractive((options.readCall ?? agentCall)(argv, io), terminal);
  ended.then(
    (code) => terminal.leave(`It ended with ${code}`),
    (error) => terminal.leave(`It failed (${error.stack})`),
  );
  const end = () => {
    stop.abort(new Error("The test is over."));
    return ended;
  };
  onTestFinished(async () => {
    await end().catch(() => undefined);
    // The keys are those of the process, and so of the test that comes next.
    keys.bind({});
  });
  return { terminal, project, ended, printed: () => printed, end };
}

const silent: Scenario = { contextWindow: 100_000, turn: [{ text: "Good." }], atEnd: "repeat" };
