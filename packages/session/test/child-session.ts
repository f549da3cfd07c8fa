import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("fixtures/session-process.ts", import.meta.url));
const nodeArguments = ["--conditions=@bonsai-agent/source", "--no-warnings", program];

/** Runs one task of `session-process.ts` to its end and returns what it printed last, as JSON. */
export function childSession(
  task: string[],
  options: { limitKib?: number } = {},
): Promise<Record<string, unknown>> {
  const command = [process.execPath, ...nodeArguments, ...task];
  const shell = `trap '' XFSZ; ulimit -f ${options.limitKib ?? "unlimited"}; exec "$@"`;
  return new Promise((resolve, reject) => {
    execFile("bash", ["-c", shell, "bash", ...command], (error, stdout, stderr) => {
      if (error) reject(new Error(`${task[0]} failed: ${stderr}`, { cause: error }));
      else resolve(JSON.parse(stdout.trim().split("\n").at(-1)!));
    });
  });
}

/** A process that appends until it is killed; tells each id once its append returned. */
export function appendingProcess(task: string[]): {
  acknowledged: string[];
  /** Resolves once this many ids were acknowledged, or the process ended. */
  reached(count: number): Promise<void>;
  kill(): Promise<void>;
  ended: Promise<void>;
} {
  const child = spawn(process.execPath, [...nodeArguments, ...task], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const acknowledged: string[] = [];
  const waiting: Array<{ count: number; resolve: () => void }> = [];
  const lines = createInterface(child.stdout);
  const settle = (all: boolean) => {
    for (const { count, resolve } of waiting) if (all || acknowledged.length >= count) resolve();
  };
  // A line that the kill cut off never told its id.
  lines.on("line", (line) => {
    if (line.endsWith(".")) acknowledged.push(line.slice(0, -1));
    settle(false);
  });
  const ended = new Promise<void>((resolve) => {
    lines.on("close", () => {
      settle(true);
      resolve();
    });
  });
  return {
    acknowledged,
    reached: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve });
        settle(false);
      }),
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
    ended,
  };
}
