import type { ChildProcess, SpawnOptions } from "node:child_process";
import { startProcess } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";

export interface RunNpmOptions {
  /** Absolute. Its `package.json` lists the wanted packages. */
  folder: string;
  /** `PATH` and npm's own variables. */
  env: Readonly<Record<string, string | undefined>>;
  signal?: AbortSignal | undefined;
}

// The user's npmrc decides on registries and keys; these options fix the layout of the folder.
const npmArguments = [
  "install",
  "--prefix=.",
  "--global=false",
  "--install-strategy=hoisted",
  "--no-package-lock",
  "--ignore-scripts",
  // Extensions get the host's modules when they load.
  "--legacy-peer-deps",
  "--omit=peer",
  "--omit=dev",
  "--no-audit",
  "--no-fund",
  "--no-progress",
  "--no-update-notifier",
  // npm only warns about a file that it could not write.
  "--loglevel=warn",
] as const;

const isWindows = process.platform === "win32";

/**
 * Runs the user's npm in a folder. After an abort, rejects with the signal's reason when npm has ended.
 * @param source the package, for error messages
 * @throws BonsaiError `npm_missing`, `package_unknown`, `package_install_failed`
 */
export async function runNpm(source: string, { folder, env, signal }: RunNpmOptions): Promise<void> {
  const child = await startNpm(folder, env).catch((error: Error) => {
    throw (error.cause as NodeJS.ErrnoException).code === "ENOENT" ? npmMissing(error.cause) : error;
  });
  const kill = () => killGroup(child);
  signal?.addEventListener("abort", kill);
  if (signal?.aborted) kill();
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const exitCode = await new Promise<number | null>((resolve) => {
    child.once("close", resolve);
  });
  signal?.removeEventListener("abort", kill);
  signal?.throwIfAborted();
  const [torn] = /TAR_ENTRY_ERROR .*/.exec(stderr) ?? [];
  if (exitCode !== 0 || torn !== undefined) throw npmFailure(source, torn ?? stderr, exitCode);
}

function startNpm(cwd: string, env: RunNpmOptions["env"]): Promise<ChildProcess> {
  const options: SpawnOptions = { cwd, env, stdio: ["ignore", "ignore", "pipe"], windowsHide: true };
  // On Windows, npm is a script that only a shell can start.
  if (isWindows)
    return startProcess({ command: ["npm", ...npmArguments].join(" "), args: [], ...options, shell: true });
  // Version managers start npm as a child, so an abort has to kill the process group.
  return startProcess({ command: "npm", args: npmArguments, ...options, detached: true });
}

/** SIGKILL, because npm would first finish its downloads. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(isWindows ? pid : -pid, "SIGKILL");
  } catch (error) {
    // It has just ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function npmMissing(cause: unknown): BonsaiError {
  return new BonsaiError({
    code: "npm_missing",
    message: "Could not find npm on the PATH.",
    hint: "Install npm, which comes with Node. Or download the package and run `bonsai extension add ./FOLDER`.",
    cause,
  });
}

/** An error with npm's own message. */
function npmFailure(source: string, stderr: string, exitCode: number | null): BonsaiError {
  const lines = stderr.split("\n").map((line) => line.replace(/^npm (error|ERR!) ?/, "").trim());
  const isDetail = (line: string) =>
    /^(code|syscall|errno|path|dest|npm warn|A complete log)\b|^$/.test(line);
  const words = lines.find((line) => !isDetail(line)) ?? lines.find((line) => line !== "");
  const why = words ?? `npm ended with exit code ${exitCode ?? "none"}`;
  const message = `Could not install ${source}: ${why.replace(/\.$/, "")}.`;
  if (/^npm (error|ERR!) code (E404|ETARGET|ENOVERSIONS)$/m.test(stderr))
    return new BonsaiError({
      code: "package_unknown",
      message,
      hint: "Check the name and the version: `npm view NAME versions` lists the versions. A private package needs its registry in ~/.npmrc.",
    });
  return new BonsaiError({
    code: "package_install_failed",
    message,
    hint: "Check the network, the disk space and the registry in ~/.npmrc. For details, run `npm install` with the same package in an empty folder.",
  });
}
