import type { ChildProcess, SpawnOptions } from "node:child_process";
import { startProcess } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import type { NpmEnd } from "./npm-failure.ts";

export interface RunNpmOptions {
  /** Absolute: its `package.json` says what is wanted. */
  folder: string;
  /** `PATH`, and what npm reads. */
  env: Readonly<Record<string, string | undefined>>;
  signal?: AbortSignal | undefined;
}

// What a user's npmrc says of registries and keys holds; what would change the layout of the folder does not.
const npmArguments = [
  "install",
  "--prefix=.",
  "--global=false",
  "--install-strategy=hoisted",
  "--no-package-lock",
  // A package's own scripts are not run.
  "--ignore-scripts",
  // The host's modules are given to extensions when they load.
  "--legacy-peer-deps",
  "--omit=peer",
  "--omit=dev",
  "--no-audit",
  "--no-fund",
  "--no-progress",
  "--no-update-notifier",
  // A file that could not be written is a warning to it.
  "--loglevel=warn",
  "--json",
] as const;

const isWindows = process.platform === "win32";

/**
 * Runs the user's npm in a folder. Rejects with the signal's reason after an abort, when npm has ended.
 * @throws BonsaiError `npm_missing`
 */
export async function runNpm({ folder, env, signal }: RunNpmOptions): Promise<NpmEnd> {
  signal?.throwIfAborted();
  const child = await startNpm(folder, env).catch((error: Error) => {
    throw (error.cause as NodeJS.ErrnoException).code === "ENOENT" ? npmMissing(error.cause) : error;
  });
  const end = () => endGroup(child);
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();
  try {
    return await npmEnd(child);
  } finally {
    signal?.removeEventListener("abort", end);
    signal?.throwIfAborted();
  }
}

function startNpm(cwd: string, env: RunNpmOptions["env"]): Promise<ChildProcess> {
  const options: SpawnOptions = { cwd, env, stdio: ["ignore", "pipe", "pipe"], windowsHide: true };
  // There, npm is a script that only a shell can start.
  if (isWindows)
    return startProcess({ command: ["npm", ...npmArguments].join(" "), args: [], ...options, shell: true });
  // A group of its own: version managers put programs of theirs before the npm that must end.
  return startProcess({ command: "npm", args: npmArguments, ...options, detached: true });
}

/** At once: asked to end, npm first waits for what it fetches. Its cache takes no harm, and the folder goes away. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(isWindows ? pid : -pid, "SIGKILL");
  } catch (error) {
    // It ended by itself in this moment.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function npmEnd(child: ChildProcess): Promise<NpmEnd> {
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
    });
  }
  const exitCode = await new Promise<number | null>((resolve) => {
    child.once("close", resolve);
  });
  return { exitCode, ...texts };
}

function npmMissing(cause: unknown): BonsaiError {
  return new BonsaiError({
    code: "npm_missing",
    message: "npm was not found on the PATH.",
    hint: "Install npm, which comes with Node, or download the package and install its folder: `bonsai install ./folder`.",
    cause,
  });
}
