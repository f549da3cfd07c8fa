import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { BonsaiError } from "@bonsai-agent/messages";
import { programPath, startProcess } from "./tools/process.ts";

/** What the system's clipboard holds. */
export type ClipboardContent =
  | { kind: "image"; bytes: Buffer }
  | { kind: "text"; text: string }
  /** Neither an image that models take nor text: the media types that it is offered in. */
  | { kind: "other"; types: readonly string[] }
  /** Nothing, in the words of the program that was asked. */
  | { kind: "nothing"; words: string };

export interface ClipboardOptions {
  /** Says which desktop there is, and where programs are. Default: that of this process. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Default: this one. */
  platform?: NodeJS.Platform | undefined;
  /** Ends the programs. Default: never aborts. */
  signal?: AbortSignal | undefined;
  /** A program that has not answered by then is ended. Default 5000, with PowerShell 20000. */
  timeoutMs?: number | undefined;
}

/** More is not an image that anybody sends, and would fill the memory. */
const MAX_BYTES = 64_000_000;
const TIMEOUT_MS = 5_000;
/** PowerShell alone can take some seconds to start. */
const POWERSHELL_TIMEOUT_MS = 20_000;

/** What models take, the one to prefer first. */
const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/** What a clipboard offers plain text as, the best first; copied files are a list of their addresses. */
const textTypes = [
  "text/plain;charset=utf-8",
  "UTF8_STRING",
  "text/plain",
  "STRING",
  "TEXT",
  "text/uri-list",
];

type Command = readonly [program: string, ...args: string[]];

/** Reads a clipboard by its programs; undefined where they are not installed. */
interface Reader {
  /** What has to be installed, for people. */
  needs: string;
  read(run: Run): Promise<ClipboardContent | undefined>;
}

/** Runs a program to its end; undefined where it is not installed. */
type Run = (command: Command, input?: string | Buffer) => Promise<Ended | undefined>;

interface Ended {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

/**
 * Reads the clipboard; an image before the text beside it.
 * @throws BonsaiError `clipboard_missing` where no program can read it, `clipboard_failed` where one does not answer in
 *   time or answers with too much; the reason of `signal` once it aborts
 */
export async function readClipboard(options: ClipboardOptions = {}): Promise<ClipboardContent> {
  const { env = process.env, platform = process.platform } = options;
  const readers = readersFor(platform, env);
  let latest: ClipboardContent | undefined;
  let failure: BonsaiError | undefined;
  for (const reader of readers) {
    const content = await reader.read(runner(options)).catch(ofProgram);
    // What one desktop's clipboard does not have, or does not tell, the other's may.
    if (BonsaiError.is(content)) failure ??= content;
    else if (content !== undefined && content.kind !== "nothing") return content;
    else latest = content ?? latest;
  }
  if (failure !== undefined) throw failure;
  return latest ?? missing(readers);
}

/**
 * Puts a text on the clipboard.
 * @returns the program that took it; undefined where none did
 * @throws the reason of `signal` once it aborts
 */
export async function writeClipboard(
  text: string,
  options: ClipboardOptions = {},
): Promise<string | undefined> {
  const { env = process.env, platform = process.platform } = options;
  const run = runner(options);
  for (const command of writersFor(platform, env)) {
    // It takes other letters than those of its code page in UTF-16 only.
    const input = command[0].startsWith("clip") ? Buffer.from(text, "utf16le") : text;
    const ended = await run(command, input).catch(ofProgram);
    // One that hangs is passed over, as one that fails.
    if (ended !== undefined && !BonsaiError.is(ended) && ended.code === 0) return command[0];
  }
  return undefined;
}

/** The programs that {@link writeClipboard} tries, the likeliest first. */
export function clipboardWriters(options: ClipboardOptions = {}): readonly string[] {
  const { env = process.env, platform = process.platform } = options;
  return writersFor(platform, env).map(([program]) => program);
}

function writersFor(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly Command[] {
  const ofTmux: readonly Command[] = env.TMUX ? [["tmux", "load-buffer", "-w", "-"]] : [];
  return [...ofDesktop(platform, env), ...ofTmux];
}

const ofX11: readonly Command[] = [
  ["xclip", "-selection", "clipboard"],
  ["xsel", "--clipboard", "--input"],
];

/** Over SSH, only the display that it forwards is the one that the user sees. */
function ofDesktop(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly Command[] {
  if (env.SSH_CONNECTION || env.SSH_TTY) return env.DISPLAY ? ofX11 : [];
  if (platform === "darwin") return [["pbcopy"]];
  if (platform === "win32") return [["clip"]];
  const ofWindows: readonly Command[] = isInWindows(env) ? [["clip.exe"]] : [];
  return [...ofWindows, ["wl-copy"], ...ofX11, ["termux-clipboard-set"]];
}

/** Linux within Windows: what the user copies is on the clipboard of Windows. */
function isInWindows(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env.WSL_DISTRO_NAME || env.WSL_INTEROP);
}

function readersFor(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): readonly Reader[] {
  if (platform === "darwin") return [mac];
  if (platform === "win32") return [powerShell];
  return [
    ...(isInWindows(env) ? [powerShell] : []),
    ...(env.WAYLAND_DISPLAY ? [wayland] : []),
    ...(env.DISPLAY ? [x11] : []),
  ];
}

const wayland = ofTypes("wl-paste (package wl-clipboard)", {
  list: ["wl-paste", "--list-types"],
  get: (type) => ["wl-paste", "--no-newline", "--type", type],
});

const x11 = ofTypes("xclip", {
  list: ["xclip", "-selection", "clipboard", "-t", "TARGETS", "-o"],
  get: (type) => ["xclip", "-selection", "clipboard", "-t", type, "-o"],
});

/** A program that first says in which types the clipboard offers what it holds. */
function ofTypes(needs: string, { list, get }: { list: Command; get: (type: string) => Command }): Reader {
  return {
    needs,
    async read(run) {
      const listed = await run(list);
      if (listed === undefined) return undefined;
      const offered = listed.stdout.toString("utf8").split(/\s+/).filter(Boolean);
      if (listed.code !== 0 || offered.length === 0) return nothing(list, listed);
      let failed: ClipboardContent = { kind: "other", types: offered };
      for (const type of [...imageTypes, ...textTypes].filter((each) => offered.includes(each))) {
        const given = await run(get(type));
        if (given?.code !== 0 || given.stdout.length === 0) failed = nothing(list, given);
        else if (imageTypes.includes(type)) return { kind: "image", bytes: given.stdout };
        else return { kind: "text", text: given.stdout.toString("utf8") };
      }
      return failed;
    },
  };
}

const mac: Reader = {
  needs: "pngpaste or osascript",
  async read(run) {
    const pasted = await run(["pngpaste", "-"]);
    if (pasted?.code === 0 && pasted.stdout.length > 0) return { kind: "image", bytes: pasted.stdout };
    const script: Command = ["osascript", "-e", "the clipboard as «class PNGf»"];
    const told = pasted === undefined ? await run(script) : undefined;
    // Written as «data PNGf89504E47…».
    const [, hex] = /PNGf([0-9A-F]+)/i.exec(told?.stdout.toString("latin1") ?? "") ?? [];
    if (hex !== undefined) return { kind: "image", bytes: Buffer.from(hex, "hex") };
    const text = await run(["pbpaste"]);
    if (text?.code === 0 && text.stdout.length > 0)
      return { kind: "text", text: text.stdout.toString("utf8") };
    if (pasted === undefined && told === undefined && text === undefined) return undefined;
    return nothing(["pbpaste"], text);
  },
};

/** Writes `image` or `text` and what is there as base64, so that no code page changes it. */
const powerShellScript = [
  "$ErrorActionPreference = 'Stop'",
  "Add-Type -AssemblyName System.Windows.Forms, System.Drawing",
  "$image = [Windows.Forms.Clipboard]::GetImage()",
  "if ($image) { $stream = New-Object IO.MemoryStream; $image.Save($stream, [Drawing.Imaging.ImageFormat]::Png); 'image ' + [Convert]::ToBase64String($stream.ToArray()) }",
  "else { 'text ' + [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes([Windows.Forms.Clipboard]::GetText())) }",
].join("; ");

const powerShell: Reader = {
  needs: "powershell.exe",
  async read(run) {
    const command: Command = [
      "powershell.exe",
      "-NoProfile",
      "-NonInteractive",
      "-Sta",
      "-Command",
      powerShellScript,
    ];
    const ended = await run(command);
    if (ended === undefined) return undefined;
    const [, kind, data = ""] =
      /\b(image|text) ([A-Za-z0-9+/=]*)\s*$/.exec(ended.stdout.toString("latin1")) ?? [];
    const bytes = Buffer.from(data, "base64");
    if (ended.code !== 0 || bytes.length === 0) return nothing(command, ended);
    return kind === "image" ? { kind, bytes } : { kind: "text", text: bytes.toString("utf8") };
  },
};

function nothing([program]: Command, ended: Ended | undefined): ClipboardContent {
  const words = ended?.stderr.trim().split(/\r?\n/, 1)[0]?.trim() ?? "";
  return { kind: "nothing", words: words === "" ? `${program} returned nothing` : `${program}: ${words}` };
}

function missing(readers: readonly Reader[]): never {
  const needs = readers.map((reader) => reader.needs).join(" or ");
  throw new BonsaiError({
    code: "clipboard_missing",
    message:
      needs === ""
        ? "Cannot read a clipboard here: neither WAYLAND_DISPLAY nor DISPLAY is set. This is usual over SSH."
        : `Cannot read the clipboard: ${needs} is not installed.`,
    hint:
      needs === ""
        ? "Save the image on this machine and attach it with @FILE. To paste text, use the paste key of your terminal."
        : "Install it, or save the image and attach it with @FILE.",
  });
}

function runner({ env = process.env, signal: asked, timeoutMs }: ClipboardOptions): Run {
  return async (command, input) => {
    const [program, ...args] = command;
    const limitMs = timeoutMs ?? (program.startsWith("powershell") ? POWERSHELL_TIMEOUT_MS : TIMEOUT_MS);
    const late = AbortSignal.timeout(limitMs);
    const signal = asked === undefined ? late : AbortSignal.any([asked, late]);
    asked?.throwIfAborted();
    const isWindows = process.platform === "win32";
    // A name without a folder could be found in the project: Windows looks in the working folder first.
    const found = isWindows ? program : programPath(program, env);
    if (found === undefined) return undefined;
    const child = await startProcess({
      ...{ command: found, args, env, cwd: isWindows ? env.SystemRoot : undefined },
      // What a writer leaves behind to serve the clipboard must hold no pipe of ours.
      stdio: input === undefined ? "pipe" : ["pipe", "ignore", "ignore"],
      // In a group of its own, to be ended with what it started.
      detached: !isWindows,
      windowsHide: true,
    }).catch(notInstalled);
    if (child === undefined) return undefined;
    // A program that ends before it has read shows in its exit.
    child.stdin!.end(input);
    const ended = await untilEnd(child, signal);
    asked?.throwIfAborted();
    if (ended === "late") throw failed(program, `did not answer within ${limitMs / 1_000} s`);
    if (ended === "too much") throw failed(program, `returned more than ${MAX_BYTES / 1_000_000} MB`);
    return ended;
  };
}

async function untilEnd(child: ChildProcess, signal: AbortSignal): Promise<Ended | "late" | "too much"> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<"late" | "too much">();
  const onAbort = () => stop("late");
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const out: Buffer[] = [];
  let bytes = 0;
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) stop("too much");
    else out.push(chunk);
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    if (stderr.length < 2_000) stderr += chunk.toString("utf8");
  });
  const ended = once(child, child.stdout === null ? "exit" : "close") as Promise<[number | null]>;
  try {
    const end = await Promise.race([ended, stopped]);
    if (typeof end !== "string") return { code: end[0], stdout: Buffer.concat(out), stderr };
    killGroup(child);
    child.stdout?.destroy();
    child.stderr?.destroy();
    return end;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function killGroup(child: ChildProcess): void {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // It ended by itself just now.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function failed(program: string, what: string): BonsaiError {
  return new BonsaiError({
    code: "clipboard_failed",
    message: `Cannot use the clipboard: ${program} ${what}.`,
    hint: "Try again, or save the image and attach it with @FILE.",
  });
}

/** What a program did wrong, which another need not do too. */
function ofProgram(error: unknown): BonsaiError {
  if (!BonsaiError.is(error) || error.code !== "clipboard_failed") throw error;
  return error;
}

/** Another program may be there; where none could be started, no other could. */
function notInstalled(error: Error): undefined {
  const { code } = error.cause as NodeJS.ErrnoException;
  if (code !== "ENOENT" && code !== "EACCES" && code !== "ENOEXEC") throw error;
}
