import { once } from "node:events";
import { programPath, startTree } from "@bonsai-agent/agent/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";

export interface ClipboardOptions {
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Default: the platform of this process. */
  platform?: NodeJS.Platform | undefined;
  /** Ends the programs. Default: never aborts. */
  signal?: AbortSignal | undefined;
  /** Time limit for each program. Default 5000, with PowerShell 20000. */
  timeoutMs?: number | undefined;
}

/** A larger image does not fit a model. */
const MAX_BYTES = 64_000_000;
const MAX_ERROR_CHARS = 2_000;
const TIMEOUT_MS = 5_000;
/** PowerShell can take some seconds to start. */
const POWERSHELL_TIMEOUT_MS = 20_000;

type ClipboardCommand = readonly [program: string, ...args: string[]];

interface EndedProgram {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

/**
 * Puts a text on the clipboard. Returns the program that accepted it; undefined if none did.
 * @throws the reason of `signal` once it aborts
 */
export async function writeClipboard(
  text: string,
  options: ClipboardOptions = {},
): Promise<string | undefined> {
  for (const command of writersFor(options)) {
    // clip reads letters outside its code page only in UTF-16.
    const input = command[0].startsWith("clip") ? Buffer.from(text, "utf16le") : text;
    const ended = await runClipboardProgram(command, options, input).catch((error: unknown) => {
      // Another program may work.
      if (!BonsaiError.is(error) || error.code !== "clipboard_failed") throw error;
    });
    if (ended?.code === 0) return command[0];
  }
  return undefined;
}

const X11_WRITER: ClipboardCommand = ["xclip", "-selection", "clipboard"];

/** The programs that {@link writeClipboard} tries, the likeliest first. */
export function clipboardWriters(): readonly string[] {
  return writersFor({}).map(([program]) => program);
}

/** The programs that write the clipboard that the user sees. */
function writersFor({
  env = process.env,
  platform = process.platform,
}: ClipboardOptions): readonly ClipboardCommand[] {
  const tmux: readonly ClipboardCommand[] = env.TMUX ? [["tmux", "load-buffer", "-w", "-"]] : [];
  // Over SSH, the user sees only the display that SSH forwards.
  if (env.SSH_CONNECTION || env.SSH_TTY) return env.DISPLAY ? [X11_WRITER, ...tmux] : tmux;
  if (platform === "darwin") return [["pbcopy"], ...tmux];
  if (platform === "win32") return [["clip"], ...tmux];
  // In Linux within Windows, the user's clipboard is that of Windows.
  const isInWindows = env.WSL_DISTRO_NAME || env.WSL_INTEROP;
  const windows: readonly ClipboardCommand[] = isInWindows ? [["clip.exe"]] : [];
  return [...windows, ["wl-copy"], X11_WRITER, ...tmux];
}

/**
 * Runs a program of the clipboard to its end.
 * @param input for a writer, whose output is not read: its background processes must not keep our pipes open
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
  // Windows looks for a name without a folder in the working folder first, which may be the project.
  const command = isWindows ? program : programPath(program, env);
  if (command === undefined) return undefined;
  const tree = await startTree({
    ...{ command, args, env, cwd: isWindows ? env.SystemRoot : undefined },
    stdio: input === undefined ? "pipe" : ["pipe", "ignore", "ignore"],
  }).catch((error: Error) => {
    const { code = "" } = error.cause as NodeJS.ErrnoException;
    // Another program may be installed.
    if (!["ENOENT", "EACCES", "ENOEXEC"].includes(code)) throw error;
  });
  if (tree === undefined) return undefined;
  // The exit code shows if the program ends before it has read all.
  tree.child.stdin!.end(input);
  try {
    return await ended(tree, signal === undefined ? late : AbortSignal.any([signal, late]));
  } catch (cause) {
    signal?.throwIfAborted();
    const problem = late.aborted
      ? `did not answer within ${limitMs / 1_000} s`
      : `returned more than ${MAX_BYTES / 1_000_000} MB`;
    throw new BonsaiError({
      code: "clipboard_failed",
      message: `Cannot use the clipboard: ${program} ${problem}.`,
      hint: "Try again, or save the image and attach it with @FILE.",
      cause,
    });
  }
}

/** @throws the reason of the signal, or an error for too much output; then the program and its children are killed */
async function ended(
  { child, kill, forget }: Awaited<ReturnType<typeof startTree>>,
  signal: AbortSignal,
): Promise<EndedProgram> {
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
    await kill();
    throw error;
  } finally {
    forget();
  }
}
