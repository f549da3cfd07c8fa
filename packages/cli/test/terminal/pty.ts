import { type IPty, spawn } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { HeadlessTerminal } from "../interactive/headless-terminal.ts";
import { type LiveOptions, liveEnvironment, shellLine } from "./live-terminal.ts";

/** `bonsai` as a process of its own on a pseudo terminal. */
export function openPty(options: LiveOptions): HeadlessTerminal {
  const { columns = 80, rows = 24 } = options;
  const pty = spawn("sh", ["-c", shellLine(options)], {
    cols: columns,
    rows,
    cwd: options.project.cwd,
    env: liveEnvironment(options),
  });
  return terminalOfPty(pty);
}

/** The terminal that a program on a pseudo terminal draws on, until the end of the test. */
export function terminalOfPty(pty: IPty): HeadlessTerminal {
  const terminal = new HeadlessTerminal({ columns: pty.cols, rows: pty.rows });
  terminal.start(
    (data) => pty.write(data),
    () => pty.resize(terminal.columns, terminal.rows),
  );
  pty.onData((data) => terminal.write(data));
  const gone = new Promise<void>((resolve) => pty.onExit(() => resolve()));
  onTestFinished(async () => {
    terminal.stop();
    // All that runs on the terminal is hung up on.
    pty.kill("SIGHUP");
    await gone;
  });
  return terminal;
}
