import type { ChildProcess } from "node:child_process";
import type { builtinTools } from "@bonsai-agent/agent";
import { startProcess } from "@bonsai-agent/agent/host";

type CommandOperations = NonNullable<Parameters<typeof builtinTools>[0]["bash"]["operations"]>;

/** Runs commands for an extension of pi. Unlike Bonsai's own operations, it can be called without a signal. */
export interface BashOperations {
  exec(
    command: string,
    cwd: string,
    options: Omit<Parameters<CommandOperations["exec"]>[2], "signal"> & { signal?: AbortSignal },
  ): Promise<{ exitCode: number | null }>;
}

/** Commands in a shell of this machine. */
export function createLocalBashOperations({
  shellPath = "bash",
}: {
  shellPath?: string;
} = {}): BashOperations {
  return {
    async exec(command, cwd, options) {
      options.signal?.throwIfAborted();
      const child = await startProcess({
        command: shellPath,
        args: ["-c", command],
        cwd,
        env: options.env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      return { exitCode: await ended(child, options) };
    },
  };
}

type ExecOptions = Parameters<BashOperations["exec"]>[2];

function ended(child: ChildProcess, { onData, signal, timeout }: ExecOptions): Promise<number | null> {
  return new Promise((done, failed) => {
    const end = (why: string) => {
      killGroup(child.pid!);
      failed(new Error(why));
    };
    const onAbort = () => end("aborted");
    const timer = timeout && setTimeout(() => end(`timeout:${timeout}`), timeout * 1_000);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    child.stdout!.on("data", onData);
    child.stderr!.on("data", onData);
    child.on("close", (exitCode) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      done(exitCode);
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
