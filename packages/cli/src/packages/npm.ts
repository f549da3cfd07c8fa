import type { ChildProcess, SpawnOptions } from "node:child_process";
import { startProcess } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";

export interface RunNpmOptions {
  /** Absolute: its `package.json` says what is wanted. */
  folder: string;
  /** `PATH`, and what npm reads. */
  env: Readonly<Record<string, string | undefined>>;
  signal?: AbortSignal | undefined;
}

// Registries and keys of the user's npmrc hold; options that change the layout of the folder are set here.
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
    message: "Could not find npm on the PATH.",
    hint: "Install npm, which comes with Node. Or download the package and run `bonsai extension add ./FOLDER`.",
    cause,
  });
}

/** How npm ended. */
interface NpmEnd {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

const unwritten = /TAR_ENTRY_ERROR ((\w+)[^\n]*)/;

/** True where npm ended well, and yet did not write every file of a package: a full disk is a warning to it. */
export function isTorn({ stderr }: NpmEnd): boolean {
  return unwritten.test(stderr);
}

/** npm's report of a failure with `--json`. */
interface NpmError {
  code?: string | undefined;
  summary?: string | undefined;
}

/** @param sentence makes a sentence of what happened, with npm's own words */
type Failure = (sentence: (what: string) => string) => BonsaiError;

const notFound: Failure = (sentence) =>
  new BonsaiError({
    code: "package_unknown",
    message: sentence("npm cannot find it"),
    hint: "Check the name and the version: `npm view NAME versions` lists the versions. A private package needs its registry in ~/.npmrc.",
  });

const unreachable: Failure = (sentence) =>
  new BonsaiError({
    code: "registry_unreachable",
    message: sentence("npm cannot reach its registry"),
    hint: "Check the network, and the registry and proxy in ~/.npmrc. Then try again.",
  });

const refused: Failure = (sentence) =>
  new BonsaiError({
    code: "registry_refused",
    message: sentence("the registry refused access"),
    hint: "Log in with `npm login`, or check the token in ~/.npmrc.",
  });

const full: Failure = (sentence) =>
  new BonsaiError({
    code: "disk_full",
    message: sentence("the disk is full"),
    hint: "Free disk space and try again.",
  });

const other: Failure = (sentence) =>
  new BonsaiError({
    code: "package_install_failed",
    message: sentence("npm failed"),
    hint: "For details, run `npm install` with the same package in an empty folder.",
  });

const failures: ReadonlyMap<string, Failure> = new Map([
  ["E404", notFound],
  ["ETARGET", notFound],
  ["ENOVERSIONS", notFound],
  ["E401", refused],
  ["E403", refused],
  ["ENEEDAUTH", refused],
  ["EOTP", refused],
  ["ENOSPC", full],
  ["EDQUOT", full],
  ...["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT"].map(
    (code) => [code, unreachable] as const,
  ),
  ...["ERR_SOCKET_TIMEOUT", "ENOTCACHED"].map((code) => [code, unreachable] as const),
]);

/** The error for a failed npm run, with npm's own message. */
export function npmFailure(source: string, end: NpmEnd): BonsaiError {
  const { code, summary } = npmError(end);
  const words = summary ?? lastLines(end);
  const failure = failures.get(code ?? "") ?? other;
  return failure((what) => `Could not install ${source}: ${what} (${words}).`);
}

/** Warnings and the like can stand around the JSON. */
function npmError({ stdout, stderr }: NpmEnd): NpmError {
  const lines = stdout.split(/\r?\n/);
  const [from, until] = [lines.indexOf("{"), lines.lastIndexOf("}")];
  const json = from < 0 || until < from ? undefined : lines.slice(from, until + 1).join("\n");
  const error =
    json === undefined ? undefined : (parsed(json) as { error?: Record<string, unknown> } | null)?.error;
  const [, torn, tornCode] = unwritten.exec(stderr) ?? [];
  const code = textOf(error?.code) ?? /^npm (?:error|ERR!) code (\S+)/m.exec(stderr)?.[1] ?? tornCode;
  return { code, summary: textOf(error?.summary)?.split("\n")[0]?.replace(/\.$/, "") ?? torn };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const shownLines = 3;

function lastLines({ exitCode, stderr }: NpmEnd): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.replace(/^npm (error|ERR!) ?/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("npm warn") && !line.includes("complete log"));
  return lines.slice(-shownLines).join(" ") || `exit code ${exitCode ?? "none"}`;
}
