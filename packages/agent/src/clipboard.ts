import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { BonsaiError } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { programPath, startProcess } from "./tools/process.ts";

export interface ClipboardOptions {
  /** Names the desktop, and the folders of programs. Default: that of this process. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Default: this one. */
  platform?: NodeJS.Platform | undefined;
  /** Ends the programs. Default: never aborts. */
  signal?: AbortSignal | undefined;
  /** Time limit for each program. Default 5000, with PowerShell 20000. */
  timeoutMs?: number | undefined;
}

/** More is no image for a model, and would fill the memory. */
const MAX_BYTES = 64_000_000;
const MAX_ERROR_CHARS = 2_000;
const TIMEOUT_MS = 5_000;
/** PowerShell alone can take some seconds to start. */
const POWERSHELL_TIMEOUT_MS = 20_000;

type ClipboardCommand = readonly [program: string, ...args: string[]];

/** A program that has ended. */
interface EndedProgram {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

/**
 * Puts a text on the clipboard.
 * @returns the program that took it; undefined if none did
 * @throws the reason of `signal` once it aborts
 */
export async function writeClipboard(
  text: string,
  options: ClipboardOptions = {},
): Promise<string | undefined> {
  const { env = process.env, platform = process.platform } = options;
  for (const command of writersFor(platform, env)) {
    // clip takes letters beyond its code page in UTF-16 only.
    const input = command[0].startsWith("clip") ? Buffer.from(text, "utf16le") : text;
    const ended = await runClipboardProgram(command, options, input).catch(programFailure);
    if (ended !== undefined && !BonsaiError.is(ended) && ended.code === 0) return command[0];
  }
  return undefined;
}

/** The programs that {@link writeClipboard} tries, the likeliest first. */
export function clipboardWriters(options: ClipboardOptions = {}): readonly string[] {
  const { env = process.env, platform = process.platform } = options;
  return writersFor(platform, env).map(([program]) => program);
}

function writersFor(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly ClipboardCommand[] {
  const tmux: readonly ClipboardCommand[] = env.TMUX ? [["tmux", "load-buffer", "-w", "-"]] : [];
  return [...desktopWriters(platform, env), ...tmux];
}

const x11Writers: readonly ClipboardCommand[] = [
  ["xclip", "-selection", "clipboard"],
  ["xsel", "--clipboard", "--input"],
];

/** Over SSH, the user sees only the display that SSH forwards. */
function desktopWriters(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly ClipboardCommand[] {
  if (env.SSH_CONNECTION || env.SSH_TTY) return env.DISPLAY ? x11Writers : [];
  if (platform === "darwin") return [["pbcopy"]];
  if (platform === "win32") return [["clip"]];
  // In Linux within Windows, the user's clipboard is that of Windows.
  const isInWindows = Boolean(env.WSL_DISTRO_NAME || env.WSL_INTEROP);
  const windows: readonly ClipboardCommand[] = isInWindows ? [["clip.exe"]] : [];
  return [...windows, ["wl-copy"], ...x11Writers, ["termux-clipboard-set"]];
}

/**
 * Runs a program of the clipboard to its end.
 * @param input makes it a writer, whose output is not read: a process that it leaves behind must hold no pipe of ours
 * @returns undefined if the program is not installed
 * @throws BonsaiError `clipboard_failed` after the time limit, or for too much output; the reason of `signal`
 */
export async function runClipboardProgram(
  [program, ...args]: ClipboardCommand,
  { env = process.env, signal, timeoutMs }: ClipboardOptions,
  input?: string | Buffer,
): Promise<EndedProgram | undefined> {
  const limitMs = timeoutMs ?? (program.startsWith("powershell") ? POWERSHELL_TIMEOUT_MS : TIMEOUT_MS);
  const late = AbortSignal.timeout(limitMs);
  signal?.throwIfAborted();
  const isWindows = process.platform === "win32";
  // A name without a folder could be found in the project: Windows looks in the working folder first.
  const command = isWindows ? program : programPath(program, env);
  if (command === undefined) return undefined;
  const child = await startProcess({
    ...{ command, args, env, cwd: isWindows ? env.SystemRoot : undefined },
    stdio: input === undefined ? "pipe" : ["pipe", "ignore", "ignore"],
    // In a group of its own, to be ended with its children.
    detached: !isWindows,
    windowsHide: true,
  }).catch(notInstalled);
  if (child === undefined) return undefined;
  // The exit code shows if the program ends before it has read all.
  child.stdin!.end(input);
  try {
    return await ended(child, signal === undefined ? late : AbortSignal.any([signal, late]));
  } catch (error) {
    signal?.throwIfAborted();
    const problem = late.aborted
      ? `did not answer within ${limitMs / 1_000} s`
      : `returned more than ${MAX_BYTES / 1_000_000} MB`;
    throw clipboardFailed(`${program} ${problem}`, error);
  }
}

/** @throws the reason of the signal, or an error for too much output; then the program and its children are killed */
async function ended(child: ChildProcess, signal: AbortSignal): Promise<EndedProgram> {
  const tooMuch = Promise.withResolvers<never>();
  const out: Buffer[] = [];
  let bytes = 0;
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) tooMuch.reject(new Error("too much output"));
    else out.push(chunk);
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    if (stderr.length < MAX_ERROR_CHARS) stderr += chunk.toString("utf8");
  });
  const end = once(child, child.stdout === null ? "exit" : "close") as Promise<[number | null]>;
  try {
    const [code] = await raceAbort(Promise.race([end, tooMuch.promise]), signal);
    return { code, stdout: Buffer.concat(out), stderr };
  } catch (error) {
    killGroup(child);
    child.stdout?.destroy();
    child.stderr?.destroy();
    throw error;
  }
}

function killGroup(child: ChildProcess): void {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // It has just ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function clipboardFailed(problem: string, cause: unknown): BonsaiError {
  return new BonsaiError({
    code: "clipboard_failed",
    message: `Cannot use the clipboard: ${problem}.`,
    hint: "Try again, or save the image and attach it with @FILE.",
    cause,
  });
}

/** Returns the failure of one program, because another may work. @throws any other error */
function programFailure(error: unknown): BonsaiError {
  if (!BonsaiError.is(error) || error.code !== "clipboard_failed") throw error;
  return error;
}

/** Another program may be installed. @throws if the system cannot start any program */
function notInstalled(error: Error): undefined {
  const { code } = error.cause as NodeJS.ErrnoException;
  if (code !== "ENOENT" && code !== "EACCES" && code !== "ENOEXEC") throw error;
}
